module @jit_eval_step attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<64x64xf32> loc("fc1.weight"), %arg1: tensor<64xf32> loc("fc1.bias"), %arg2: tensor<32x64xf32> loc("fc2.weight"), %arg3: tensor<32xf32> loc("fc2.bias"), %arg4: tensor<10x32xf32> loc("fc3.weight"), %arg5: tensor<10xf32> loc("fc3.bias"), %arg6: tensor<35x64xf32> loc("image"), %arg7: tensor<35xi32> loc("label")) -> (tensor<f32> {jax.result_info = "accuracy/numerator"}, tensor<f32> {jax.result_info = "accuracy/denominator"}, tensor<f32> {jax.result_info = "loss"}) {
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %cst_1 = stablehlo.constant dense<-1.000000e+00> : tensor<f32>
    %c = stablehlo.constant dense<10> : tensor<i32>
    %c_2 = stablehlo.constant dense<35> : tensor<i32>
    %c_3 = stablehlo.constant dense<0> : tensor<i32>
    %c_4 = stablehlo.constant dense<-100> : tensor<i32>
    %cst_5 = stablehlo.constant dense<1.600000e+01> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<35x64xf32>
    %1 = stablehlo.divide %arg6, %0 : tensor<35x64xf32>
    %2 = stablehlo.dot_general %1, %arg0, contracting_dims = [1] x [1] : (tensor<35x64xf32>, tensor<64x64xf32>) -> tensor<35x64xf32>
    %3 = stablehlo.broadcast_in_dim %arg1, dims = [1] : (tensor<64xf32>) -> tensor<1x64xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<1x64xf32>) -> tensor<35x64xf32>
    %5 = stablehlo.add %2, %4 : tensor<35x64xf32>
    %6 = call @relu(%5) : (tensor<35x64xf32>) -> tensor<35x64xf32>
    %7 = stablehlo.dot_general %6, %arg2, contracting_dims = [1] x [1] : (tensor<35x64xf32>, tensor<32x64xf32>) -> tensor<35x32xf32>
    %8 = stablehlo.broadcast_in_dim %arg3, dims = [1] : (tensor<32xf32>) -> tensor<1x32xf32>
    %9 = stablehlo.broadcast_in_dim %8, dims = [0, 1] : (tensor<1x32xf32>) -> tensor<35x32xf32>
    %10 = stablehlo.add %7, %9 : tensor<35x32xf32>
    %11 = call @relu_0(%10) : (tensor<35x32xf32>) -> tensor<35x32xf32>
    %12 = stablehlo.dot_general %11, %arg4, contracting_dims = [1] x [1] : (tensor<35x32xf32>, tensor<10x32xf32>) -> tensor<35x10xf32>
    %13 = stablehlo.broadcast_in_dim %arg5, dims = [1] : (tensor<10xf32>) -> tensor<1x10xf32>
    %14 = stablehlo.broadcast_in_dim %13, dims = [0, 1] : (tensor<1x10xf32>) -> tensor<35x10xf32>
    %15 = stablehlo.add %12, %14 : tensor<35x10xf32>
    %16 = call @argmax(%15) : (tensor<35x10xf32>) -> tensor<35xi32>
    %17 = stablehlo.compare EQ, %16, %arg7, SIGNED : (tensor<35xi32>, tensor<35xi32>) -> tensor<35xi1>
    %18 = stablehlo.convert %17 : (tensor<35xi1>) -> tensor<35xf32>
    %19 = call @log_softmax(%15) : (tensor<35x10xf32>) -> tensor<35x10xf32>
    %20 = stablehlo.broadcast_in_dim %c_4, dims = [] : (tensor<i32>) -> tensor<35xi32>
    %21 = stablehlo.compare NE, %arg7, %20, SIGNED : (tensor<35xi32>, tensor<35xi32>) -> tensor<35xi1>
    %22 = call @_where(%21, %arg7, %c_3) : (tensor<35xi1>, tensor<35xi32>, tensor<i32>) -> tensor<35xi32>
    %23 = stablehlo.broadcast_in_dim %22, dims = [0] : (tensor<35xi32>) -> tensor<35x1xi32>
    %24 = stablehlo.iota dim = 0 : tensor<35xi32>
    %25 = stablehlo.reshape %24 : (tensor<35xi32>) -> tensor<35x1xi32>
    %26 = stablehlo.broadcast_in_dim %c_3, dims = [] : (tensor<i32>) -> tensor<35x1xi32>
    %27 = stablehlo.compare LT, %25, %26, SIGNED : (tensor<35x1xi32>, tensor<35x1xi32>) -> tensor<35x1xi1>
    %28 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<35x1xi32>
    %29 = stablehlo.add %25, %28 : tensor<35x1xi32>
    %30 = stablehlo.select %27, %29, %25 : tensor<35x1xi1>, tensor<35x1xi32>
    %31 = stablehlo.broadcast_in_dim %c_3, dims = [] : (tensor<i32>) -> tensor<35x1xi32>
    %32 = stablehlo.compare LT, %23, %31, SIGNED : (tensor<35x1xi32>, tensor<35x1xi32>) -> tensor<35x1xi1>
    %33 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<35x1xi32>
    %34 = stablehlo.add %23, %33 : tensor<35x1xi32>
    %35 = stablehlo.select %32, %34, %23 : tensor<35x1xi1>, tensor<35x1xi32>
    %36 = stablehlo.broadcast_in_dim %30, dims = [0, 1] : (tensor<35x1xi32>) -> tensor<35x1x1xi32>
    %37 = stablehlo.broadcast_in_dim %35, dims = [0, 1] : (tensor<35x1xi32>) -> tensor<35x1x1xi32>
    %38 = stablehlo.concatenate %36, %37, dim = 2 : (tensor<35x1x1xi32>, tensor<35x1x1xi32>) -> tensor<35x1x2xi32>
    %39 = "stablehlo.gather"(%19, %38) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1>}> : (tensor<35x10xf32>, tensor<35x1x2xi32>) -> tensor<35x1xf32>
    %40 = stablehlo.reshape %39 : (tensor<35x1xf32>) -> tensor<35xf32>
    %41 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<35xf32>
    %42 = stablehlo.multiply %41, %40 : tensor<35xf32>
    %43 = stablehlo.broadcast_in_dim %c_4, dims = [] : (tensor<i32>) -> tensor<35xi32>
    %44 = stablehlo.compare NE, %arg7, %43, SIGNED : (tensor<35xi32>, tensor<35xi32>) -> tensor<35xi1>
    %45 = call @_where_1(%44, %42, %c_3) : (tensor<35xi1>, tensor<35xf32>, tensor<i32>) -> tensor<35xf32>
    %46 = stablehlo.broadcast_in_dim %c_4, dims = [] : (tensor<i32>) -> tensor<35xi32>
    %47 = stablehlo.compare NE, %arg7, %46, SIGNED : (tensor<35xi32>, tensor<35xi32>) -> tensor<35xi1>
    %48 = stablehlo.convert %47 : (tensor<35xi1>) -> tensor<35xi32>
    %49 = stablehlo.reduce(%48 init: %c_3) applies stablehlo.add across dimensions = [0] : (tensor<35xi32>, tensor<i32>) -> tensor<i32>
    %50 = stablehlo.reduce(%45 init: %cst_0) applies stablehlo.add across dimensions = [0] : (tensor<35xf32>, tensor<f32>) -> tensor<f32>
    %51 = stablehlo.convert %49 : (tensor<i32>) -> tensor<f32>
    %52 = stablehlo.divide %50, %51 : tensor<f32>
    %53 = stablehlo.reduce(%18 init: %cst_0) applies stablehlo.add across dimensions = [0] : (tensor<35xf32>, tensor<f32>) -> tensor<f32>
    %54 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<35xf32>
    %55 = stablehlo.reduce(%54 init: %cst_0) applies stablehlo.add across dimensions = [0] : (tensor<35xf32>, tensor<f32>) -> tensor<f32>
    return %53, %55, %52 : tensor<f32>, tensor<f32>, tensor<f32>
  }
  func.func private @relu(%arg0: tensor<35x64xf32>) -> tensor<35x64xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<35x64xf32>
    %1 = stablehlo.maximum %arg0, %0 : tensor<35x64xf32>
    return %1 : tensor<35x64xf32>
  }
  func.func private @relu_0(%arg0: tensor<35x32xf32>) -> tensor<35x32xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<35x32xf32>
    %1 = stablehlo.maximum %arg0, %0 : tensor<35x32xf32>
    return %1 : tensor<35x32xf32>
  }
  func.func private @argmax(%arg0: tensor<35x10xf32>) -> tensor<35xi32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %0 = stablehlo.iota dim = 1 : tensor<35x10xi32>
    %1:2 = stablehlo.reduce(%arg0 init: %cst), (%0 init: %c) across dimensions = [1] : (tensor<35x10xf32>, tensor<35x10xi32>, tensor<f32>, tensor<i32>) -> (tensor<35xf32>, tensor<35xi32>)
     reducer(%arg1: tensor<f32>, %arg3: tensor<f32>) (%arg2: tensor<i32>, %arg4: tensor<i32>)  {
      %2 = stablehlo.compare GT, %arg1, %arg3, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %3 = stablehlo.compare NE, %arg1, %arg1, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %4 = stablehlo.or %2, %3 : tensor<i1>
      %5 = stablehlo.compare EQ, %arg1, %arg3, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %6 = stablehlo.compare LT, %arg2, %arg4, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %7 = stablehlo.and %5, %6 : tensor<i1>
      %8 = stablehlo.or %4, %7 : tensor<i1>
      %9 = stablehlo.select %4, %arg1, %arg3 : tensor<i1>, tensor<f32>
      %10 = stablehlo.select %8, %arg2, %arg4 : tensor<i1>, tensor<i32>
      stablehlo.return %9, %10 : tensor<f32>, tensor<i32>
    }
    return %1#1 : tensor<35xi32>
  }
  func.func private @log_softmax(%arg0: tensor<35x10xf32>) -> tensor<35x10xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %0 = stablehlo.reduce(%arg0 init: %cst_0) applies stablehlo.maximum across dimensions = [1] : (tensor<35x10xf32>, tensor<f32>) -> tensor<35xf32>
    %1 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<35xf32>
    %2 = stablehlo.maximum %1, %0 : tensor<35xf32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<35xf32>) -> tensor<35x1xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<35x1xf32>) -> tensor<35x10xf32>
    %5 = stablehlo.subtract %arg0, %4 : tensor<35x10xf32>
    %6 = stablehlo.exponential %5 : tensor<35x10xf32>
    %7 = stablehlo.reduce(%6 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<35x10xf32>, tensor<f32>) -> tensor<35xf32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [0] : (tensor<35xf32>) -> tensor<35x1xf32>
    %9 = stablehlo.log %8 : tensor<35x1xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1] : (tensor<35x1xf32>) -> tensor<35x10xf32>
    %11 = stablehlo.subtract %5, %10 : tensor<35x10xf32>
    return %11 : tensor<35x10xf32>
  }
  func.func private @_where(%arg0: tensor<35xi1>, %arg1: tensor<35xi32>, %arg2: tensor<i32>) -> tensor<35xi32> {
    %0 = stablehlo.convert %arg2 : tensor<i32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<i32>) -> tensor<35xi32>
    %2 = stablehlo.select %arg0, %arg1, %1 : tensor<35xi1>, tensor<35xi32>
    return %2 : tensor<35xi32>
  }
  func.func private @_where_1(%arg0: tensor<35xi1>, %arg1: tensor<35xf32>, %arg2: tensor<i32>) -> tensor<35xf32> {
    %0 = stablehlo.convert %arg2 : (tensor<i32>) -> tensor<f32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<35xf32>
    %2 = stablehlo.select %arg0, %arg1, %1 : tensor<35xi1>, tensor<35xf32>
    return %2 : tensor<35xf32>
  }
}
