module @jit_eval_step attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<16x16xf32> loc("user/user_hidden/kernel"), %arg1: tensor<16xf32> loc("user/user_hidden/bias"), %arg2: tensor<16x8xf32> loc("user/user_out/kernel"), %arg3: tensor<8xf32> loc("user/user_out/bias"), %arg4: tensor<16x16xf32> loc("item/item_hidden/kernel"), %arg5: tensor<16xf32> loc("item/item_hidden/bias"), %arg6: tensor<16x8xf32> loc("item/item_out/kernel"), %arg7: tensor<8xf32> loc("item/item_out/bias"), %arg8: tensor<4x16xf32> loc("rows of user_table/embeddings"), %arg9: tensor<4x10x16xf32> loc("rows of item_table/embeddings")) -> (tensor<f32> {jax.result_info = "hit_rate/numerator"}, tensor<f32> {jax.result_info = "hit_rate/denominator"}) {
    %cst = stablehlo.constant dense<4.000000e+00> : tensor<f32>
    %c = stablehlo.constant dense<3> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.dot_general %arg8, %arg0, contracting_dims = [1] x [0] : (tensor<4x16xf32>, tensor<16x16xf32>) -> tensor<4x16xf32>
    %1 = stablehlo.broadcast_in_dim %arg1, dims = [1] : (tensor<16xf32>) -> tensor<1x16xf32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [0, 1] : (tensor<1x16xf32>) -> tensor<4x16xf32>
    %3 = stablehlo.add %0, %2 : tensor<4x16xf32>
    %4 = call @relu(%3) : (tensor<4x16xf32>) -> tensor<4x16xf32>
    %5 = stablehlo.dot_general %4, %arg2, contracting_dims = [1] x [0] : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
    %6 = stablehlo.broadcast_in_dim %arg3, dims = [1] : (tensor<8xf32>) -> tensor<1x8xf32>
    %7 = stablehlo.broadcast_in_dim %6, dims = [0, 1] : (tensor<1x8xf32>) -> tensor<4x8xf32>
    %8 = stablehlo.add %5, %7 : tensor<4x8xf32>
    %9 = stablehlo.reshape %arg9 : (tensor<4x10x16xf32>) -> tensor<40x16xf32>
    %10 = stablehlo.dot_general %9, %arg4, contracting_dims = [1] x [0] : (tensor<40x16xf32>, tensor<16x16xf32>) -> tensor<40x16xf32>
    %11 = stablehlo.broadcast_in_dim %arg5, dims = [1] : (tensor<16xf32>) -> tensor<1x16xf32>
    %12 = stablehlo.broadcast_in_dim %11, dims = [0, 1] : (tensor<1x16xf32>) -> tensor<40x16xf32>
    %13 = stablehlo.add %10, %12 : tensor<40x16xf32>
    %14 = call @relu_0(%13) : (tensor<40x16xf32>) -> tensor<40x16xf32>
    %15 = stablehlo.dot_general %14, %arg6, contracting_dims = [1] x [0] : (tensor<40x16xf32>, tensor<16x8xf32>) -> tensor<40x8xf32>
    %16 = stablehlo.broadcast_in_dim %arg7, dims = [1] : (tensor<8xf32>) -> tensor<1x8xf32>
    %17 = stablehlo.broadcast_in_dim %16, dims = [0, 1] : (tensor<1x8xf32>) -> tensor<40x8xf32>
    %18 = stablehlo.add %15, %17 : tensor<40x8xf32>
    %19 = stablehlo.reshape %18 : (tensor<40x8xf32>) -> tensor<4x10x8xf32>
    %20 = stablehlo.broadcast_in_dim %8, dims = [0, 2] : (tensor<4x8xf32>) -> tensor<4x1x8xf32>
    %21 = stablehlo.broadcast_in_dim %20, dims = [0, 1, 2] : (tensor<4x1x8xf32>) -> tensor<4x10x8xf32>
    %22 = stablehlo.multiply %21, %19 : tensor<4x10x8xf32>
    %23 = stablehlo.reduce(%22 init: %cst_1) applies stablehlo.add across dimensions = [2] : (tensor<4x10x8xf32>, tensor<f32>) -> tensor<4x10xf32>
    %24 = stablehlo.slice %23 [0:4, 1:10] : (tensor<4x10xf32>) -> tensor<4x9xf32>
    %25 = stablehlo.slice %23 [0:4, 0:1] : (tensor<4x10xf32>) -> tensor<4x1xf32>
    %26 = stablehlo.broadcast_in_dim %25, dims = [0, 1] : (tensor<4x1xf32>) -> tensor<4x9xf32>
    %27 = stablehlo.compare GE, %24, %26, FLOAT : (tensor<4x9xf32>, tensor<4x9xf32>) -> tensor<4x9xi1>
    %28 = stablehlo.convert %27 : (tensor<4x9xi1>) -> tensor<4x9xi32>
    %29 = stablehlo.reduce(%28 init: %c_0) applies stablehlo.add across dimensions = [1] : (tensor<4x9xi32>, tensor<i32>) -> tensor<4xi32>
    %30 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<4xi32>
    %31 = stablehlo.compare LT, %29, %30, SIGNED : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
    %32 = stablehlo.convert %31 : (tensor<4xi1>) -> tensor<4xf32>
    %33 = stablehlo.reduce(%32 init: %cst_1) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
    return %33, %cst : tensor<f32>, tensor<f32>
  }
  func.func private @relu(%arg0: tensor<4x16xf32>) -> tensor<4x16xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %1 = stablehlo.maximum %arg0, %0 : tensor<4x16xf32>
    return %1 : tensor<4x16xf32>
  }
  func.func private @relu_0(%arg0: tensor<40x16xf32>) -> tensor<40x16xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<40x16xf32>
    %1 = stablehlo.maximum %arg0, %0 : tensor<40x16xf32>
    return %1 : tensor<40x16xf32>
  }
}
