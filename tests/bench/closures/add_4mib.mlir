module @add_4mib {
  func.func public @main(%w: tensor<1048576xf32>) -> tensor<1048576xf32> {
    %half = stablehlo.constant dense<0.5> : tensor<1048576xf32>
    %one = stablehlo.constant dense<1.0> : tensor<1048576xf32>
    %part = stablehlo.multiply %w, %half : tensor<1048576xf32>
    %sum = stablehlo.add %part, %one : tensor<1048576xf32>
    return %sum : tensor<1048576xf32>
  }
}
