ssp.library @L { operator_type @"a b" [latency<1>, limit<2>] loc("x":1:2) }
ssp.resource @R { resource_type @p [limit<3>] }
module @M attributes {x = 1 : i32} {
  ssp.instance "old \22name\22" of "SharedOperatorsProblem" {
    library @I { operator_type @t [latency<2>, zIn<1.0>, zOut<2e0 : f32>, #x.y<"z">] }
    graph {
      %a, %b = operation<@t>()
      %c = operation<>(%a, %b#1) [opr<@L::@"a b">, rsrcs<[@R::@p]>]
    }
  }
}
