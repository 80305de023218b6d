// Wants to overwrite its first argument.
module @donate {
  func.func public @main(%w: tensor<1024xf32> {tf.aliasing_output = 0 : i32} loc("w"), %g: tensor<1024xf32> loc("g")) -> tensor<1024xf32> {
    %0 = stablehlo.subtract %w, %g : tensor<1024xf32>
    return %0 : tensor<1024xf32>
  }
}
