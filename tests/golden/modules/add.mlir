// The smallest closure: two scalars in, one out.
module @add {
  func.func public @main(%a: tensor<i32> loc("a"), %b: tensor<i32> loc("b")) -> (tensor<i32> {jax.result_info = "sum"}) {
    %0 = stablehlo.add %a, %b : tensor<i32>
    return %0 : tensor<i32>
  }
}
