ssp.instance @mac of "ChainingProblem" {
  library {
    operator_type @add [latency<0>, incDelay<2.5>, outDelay<2.5>]
    operator_type @mul [latency<2>, incDelay<1.0 : f32>, outDelay<5.000000e-01 : f32>]
  }
  resource {
  }
  graph {
    %0 = operation<@mul>() [t<0>, z<0.0>]
    %1 = operation<@add>(%0) [t<2>, z<0.5>]
    %2 = operation<@add>(%1) [t<3>, z<0.0>]
    operation<@mul> @last(%2) [t<3>, z<2.5>]
  }
}
