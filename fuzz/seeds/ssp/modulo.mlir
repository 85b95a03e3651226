// Two libraries, one of them outside; a loop through symbols, several results, an unlimited resource.
module {
  ssp.library @Shared {
    operator_type @mul [latency<3>]
  }
  ssp.instance @fir of "ModuloProblem" [II<6>] {
    library {
      operator_type @add [latency<1>]
      operator_type @copy [latency<0>]
    }
    resource {
      resource_type @MUL [limit<1>]
      resource_type @"log port"
    }
    graph {
      %x:2 = operation<@add> @"load x"(@acc [dist<1>]) [t<0>]
      %1 = operation<@Shared::@mul>(%x#0, %x#1) uses[@MUL] [t<1>]
      %2 = operation<@Shared::@mul>(%x#1) uses[@MUL] [t<2>]
      %3 = operation<@copy>(%1) [t<4>]
      operation<@add> @acc(%3, %2, @acc [dist<2>]) uses[@"log port"] [t<5>]
      operation<>(@acc) [t<6>]
    }
  }
}
