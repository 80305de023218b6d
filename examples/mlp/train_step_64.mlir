module @jit_train_step attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<64x64xf32> loc("fc1.weight"), %arg1: tensor<64xf32> loc("fc1.bias"), %arg2: tensor<32x64xf32> loc("fc2.weight"), %arg3: tensor<32xf32> loc("fc2.bias"), %arg4: tensor<10x32xf32> loc("fc3.weight"), %arg5: tensor<10xf32> loc("fc3.bias"), %arg6: tensor<64x64xf32> loc("image"), %arg7: tensor<64xi32> loc("label")) -> (tensor<f32> {jax.result_info = "loss"}, tensor<64x64xf32> {jax.result_info = "gradient fc1.weight"}, tensor<64xf32> {jax.result_info = "gradient fc1.bias"}, tensor<32x64xf32> {jax.result_info = "gradient fc2.weight"}, tensor<32xf32> {jax.result_info = "gradient fc2.bias"}, tensor<10x32xf32> {jax.result_info = "gradient fc3.weight"}, tensor<10xf32> {jax.result_info = "gradient fc3.bias"}, tensor<f32> {jax.result_info = "accuracy/numerator"}, tensor<f32> {jax.result_info = "accuracy/denominator"}) {
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %cst_0 = stablehlo.constant dense<-1.000000e+00> : tensor<f32>
    %c = stablehlo.constant dense<10> : tensor<i32>
    %c_1 = stablehlo.constant dense<64> : tensor<i32>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %c_3 = stablehlo.constant dense<-100> : tensor<i32>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %cst_5 = stablehlo.constant dense<1.600000e+01> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<64x64xf32>
    %1 = stablehlo.divide %arg6, %0 : tensor<64x64xf32>
    %2 = stablehlo.dot_general %1, %arg0, contracting_dims = [1] x [1] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %3 = stablehlo.broadcast_in_dim %arg1, dims = [1] : (tensor<64xf32>) -> tensor<1x64xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<1x64xf32>) -> tensor<64x64xf32>
    %5 = stablehlo.add %2, %4 : tensor<64x64xf32>
    %6 = call @relu(%5) : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %7 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<64x64xf32>
    %8 = stablehlo.compare GT, %5, %7, FLOAT : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xi1>
    %9 = stablehlo.dot_general %6, %arg2, contracting_dims = [1] x [1] : (tensor<64x64xf32>, tensor<32x64xf32>) -> tensor<64x32xf32>
    %10 = stablehlo.broadcast_in_dim %arg3, dims = [1] : (tensor<32xf32>) -> tensor<1x32xf32>
    %11 = stablehlo.broadcast_in_dim %10, dims = [0, 1] : (tensor<1x32xf32>) -> tensor<64x32xf32>
    %12 = stablehlo.add %9, %11 : tensor<64x32xf32>
    %13 = call @relu_0(%12) : (tensor<64x32xf32>) -> tensor<64x32xf32>
    %14 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<64x32xf32>
    %15 = stablehlo.compare GT, %12, %14, FLOAT : (tensor<64x32xf32>, tensor<64x32xf32>) -> tensor<64x32xi1>
    %16 = stablehlo.dot_general %13, %arg4, contracting_dims = [1] x [1] : (tensor<64x32xf32>, tensor<10x32xf32>) -> tensor<64x10xf32>
    %17 = stablehlo.broadcast_in_dim %arg5, dims = [1] : (tensor<10xf32>) -> tensor<1x10xf32>
    %18 = stablehlo.broadcast_in_dim %17, dims = [0, 1] : (tensor<1x10xf32>) -> tensor<64x10xf32>
    %19 = stablehlo.add %16, %18 : tensor<64x10xf32>
    %20 = call @argmax(%19) : (tensor<64x10xf32>) -> tensor<64xi32>
    %21 = stablehlo.compare EQ, %20, %arg7, SIGNED : (tensor<64xi32>, tensor<64xi32>) -> tensor<64xi1>
    %22 = stablehlo.convert %21 : (tensor<64xi1>) -> tensor<64xf32>
    %23:3 = call @log_softmax(%19) : (tensor<64x10xf32>) -> (tensor<64x10xf32>, tensor<64x10xf32>, tensor<64x1xf32>)
    %24 = stablehlo.broadcast_in_dim %c_3, dims = [] : (tensor<i32>) -> tensor<64xi32>
    %25 = stablehlo.compare NE, %arg7, %24, SIGNED : (tensor<64xi32>, tensor<64xi32>) -> tensor<64xi1>
    %26 = call @_where(%25, %arg7, %c_2) : (tensor<64xi1>, tensor<64xi32>, tensor<i32>) -> tensor<64xi32>
    %27 = stablehlo.broadcast_in_dim %26, dims = [0] : (tensor<64xi32>) -> tensor<64x1xi32>
    %28 = stablehlo.iota dim = 0 : tensor<64xi32>
    %29 = stablehlo.reshape %28 : (tensor<64xi32>) -> tensor<64x1xi32>
    %30 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<64x1xi32>
    %31 = stablehlo.compare LT, %29, %30, SIGNED : (tensor<64x1xi32>, tensor<64x1xi32>) -> tensor<64x1xi1>
    %32 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<i32>) -> tensor<64x1xi32>
    %33 = stablehlo.add %29, %32 : tensor<64x1xi32>
    %34 = stablehlo.select %31, %33, %29 : tensor<64x1xi1>, tensor<64x1xi32>
    %35 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<64x1xi32>
    %36 = stablehlo.compare LT, %27, %35, SIGNED : (tensor<64x1xi32>, tensor<64x1xi32>) -> tensor<64x1xi1>
    %37 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<64x1xi32>
    %38 = stablehlo.add %27, %37 : tensor<64x1xi32>
    %39 = stablehlo.select %36, %38, %27 : tensor<64x1xi1>, tensor<64x1xi32>
    %40 = stablehlo.broadcast_in_dim %34, dims = [0, 1] : (tensor<64x1xi32>) -> tensor<64x1x1xi32>
    %41 = stablehlo.broadcast_in_dim %39, dims = [0, 1] : (tensor<64x1xi32>) -> tensor<64x1x1xi32>
    %42 = stablehlo.concatenate %40, %41, dim = 2 : (tensor<64x1x1xi32>, tensor<64x1x1xi32>) -> tensor<64x1x2xi32>
    %43 = "stablehlo.gather"(%23#0, %42) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1>}> : (tensor<64x10xf32>, tensor<64x1x2xi32>) -> tensor<64x1xf32>
    %44 = stablehlo.reshape %43 : (tensor<64x1xf32>) -> tensor<64xf32>
    %45 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<64xf32>
    %46 = stablehlo.multiply %45, %44 : tensor<64xf32>
    %47 = stablehlo.broadcast_in_dim %c_3, dims = [] : (tensor<i32>) -> tensor<64xi32>
    %48 = stablehlo.compare NE, %arg7, %47, SIGNED : (tensor<64xi32>, tensor<64xi32>) -> tensor<64xi1>
    %49:2 = call @_where_1(%48, %46, %c_2) : (tensor<64xi1>, tensor<64xf32>, tensor<i32>) -> (tensor<64xf32>, tensor<64xf32>)
    %50 = stablehlo.broadcast_in_dim %c_3, dims = [] : (tensor<i32>) -> tensor<64xi32>
    %51 = stablehlo.compare NE, %arg7, %50, SIGNED : (tensor<64xi32>, tensor<64xi32>) -> tensor<64xi1>
    %52 = stablehlo.convert %51 : (tensor<64xi1>) -> tensor<64xi32>
    %53 = stablehlo.reduce(%52 init: %c_2) applies stablehlo.add across dimensions = [0] : (tensor<64xi32>, tensor<i32>) -> tensor<i32>
    %54 = stablehlo.reduce(%49#0 init: %cst_4) applies stablehlo.add across dimensions = [0] : (tensor<64xf32>, tensor<f32>) -> tensor<f32>
    %55 = stablehlo.convert %53 : (tensor<i32>) -> tensor<f32>
    %56 = stablehlo.divide %54, %55 : tensor<f32>
    %57 = stablehlo.reduce(%22 init: %cst_4) applies stablehlo.add across dimensions = [0] : (tensor<64xf32>, tensor<f32>) -> tensor<f32>
    %58 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<64xf32>
    %59 = stablehlo.reduce(%58 init: %cst_4) applies stablehlo.add across dimensions = [0] : (tensor<64xf32>, tensor<f32>) -> tensor<f32>
    %60 = stablehlo.divide %cst, %55 : tensor<f32>
    %61 = stablehlo.broadcast_in_dim %60, dims = [] : (tensor<f32>) -> tensor<64xf32>
    %62 = call @_where_2(%48, %49#1, %61) : (tensor<64xi1>, tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %63 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<64xf32>
    %64 = stablehlo.multiply %63, %62 : tensor<64xf32>
    %65 = stablehlo.broadcast_in_dim %64, dims = [0] : (tensor<64xf32>) -> tensor<64x1xf32>
    %66 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<64x10xf32>
    %67 = "stablehlo.scatter"(%66, %42, %65) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 2>}> ({
    ^bb0(%arg8: tensor<f32>, %arg9: tensor<f32>):
      %87 = stablehlo.add %arg8, %arg9 : tensor<f32>
      stablehlo.return %87 : tensor<f32>
    }) : (tensor<64x10xf32>, tensor<64x1x2xi32>, tensor<64x1xf32>) -> tensor<64x10xf32>
    %68 = call @log_softmax_3(%23#1, %23#2, %67) : (tensor<64x10xf32>, tensor<64x1xf32>, tensor<64x10xf32>) -> tensor<64x10xf32>
    %69 = stablehlo.reduce(%68 init: %cst_4) applies stablehlo.add across dimensions = [0] : (tensor<64x10xf32>, tensor<f32>) -> tensor<10xf32>
    %70 = stablehlo.reshape %69 : (tensor<10xf32>) -> tensor<1x10xf32>
    %71 = stablehlo.reduce(%70 init: %cst_4) applies stablehlo.add across dimensions = [0] : (tensor<1x10xf32>, tensor<f32>) -> tensor<10xf32>
    %72 = stablehlo.dot_general %68, %13, contracting_dims = [0] x [0] : (tensor<64x10xf32>, tensor<64x32xf32>) -> tensor<10x32xf32>
    %73 = stablehlo.dot_general %68, %arg4, contracting_dims = [1] x [0] : (tensor<64x10xf32>, tensor<10x32xf32>) -> tensor<64x32xf32>
    %74 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<64x32xf32>
    %75 = stablehlo.select %15, %73, %74 : tensor<64x32xi1>, tensor<64x32xf32>
    %76 = stablehlo.reduce(%75 init: %cst_4) applies stablehlo.add across dimensions = [0] : (tensor<64x32xf32>, tensor<f32>) -> tensor<32xf32>
    %77 = stablehlo.reshape %76 : (tensor<32xf32>) -> tensor<1x32xf32>
    %78 = stablehlo.reduce(%77 init: %cst_4) applies stablehlo.add across dimensions = [0] : (tensor<1x32xf32>, tensor<f32>) -> tensor<32xf32>
    %79 = stablehlo.dot_general %75, %6, contracting_dims = [0] x [0] : (tensor<64x32xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
    %80 = stablehlo.dot_general %75, %arg2, contracting_dims = [1] x [0] : (tensor<64x32xf32>, tensor<32x64xf32>) -> tensor<64x64xf32>
    %81 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<64x64xf32>
    %82 = stablehlo.select %8, %80, %81 : tensor<64x64xi1>, tensor<64x64xf32>
    %83 = stablehlo.reduce(%82 init: %cst_4) applies stablehlo.add across dimensions = [0] : (tensor<64x64xf32>, tensor<f32>) -> tensor<64xf32>
    %84 = stablehlo.reshape %83 : (tensor<64xf32>) -> tensor<1x64xf32>
    %85 = stablehlo.reduce(%84 init: %cst_4) applies stablehlo.add across dimensions = [0] : (tensor<1x64xf32>, tensor<f32>) -> tensor<64xf32>
    %86 = stablehlo.dot_general %82, %1, contracting_dims = [0] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    return %56, %86, %85, %79, %78, %72, %71, %57, %59 : tensor<f32>, tensor<64x64xf32>, tensor<64xf32>, tensor<32x64xf32>, tensor<32xf32>, tensor<10x32xf32>, tensor<10xf32>, tensor<f32>, tensor<f32>
  }
  func.func private @relu(%arg0: tensor<64x64xf32>) -> tensor<64x64xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<64x64xf32>
    %1 = stablehlo.maximum %arg0, %0 : tensor<64x64xf32>
    return %1 : tensor<64x64xf32>
  }
  func.func private @relu_0(%arg0: tensor<64x32xf32>) -> tensor<64x32xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<64x32xf32>
    %1 = stablehlo.maximum %arg0, %0 : tensor<64x32xf32>
    return %1 : tensor<64x32xf32>
  }
  func.func private @argmax(%arg0: tensor<64x10xf32>) -> tensor<64xi32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %0 = stablehlo.iota dim = 1 : tensor<64x10xi32>
    %1:2 = stablehlo.reduce(%arg0 init: %cst), (%0 init: %c) across dimensions = [1] : (tensor<64x10xf32>, tensor<64x10xi32>, tensor<f32>, tensor<i32>) -> (tensor<64xf32>, tensor<64xi32>)
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
    return %1#1 : tensor<64xi32>
  }
  func.func private @log_softmax(%arg0: tensor<64x10xf32>) -> (tensor<64x10xf32>, tensor<64x10xf32>, tensor<64x1xf32>) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %0 = stablehlo.reduce(%arg0 init: %cst_0) applies stablehlo.maximum across dimensions = [1] : (tensor<64x10xf32>, tensor<f32>) -> tensor<64xf32>
    %1 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<64xf32>
    %2 = stablehlo.maximum %1, %0 : tensor<64xf32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<64xf32>) -> tensor<64x1xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<64x1xf32>) -> tensor<64x10xf32>
    %5 = stablehlo.subtract %arg0, %4 : tensor<64x10xf32>
    %6 = stablehlo.exponential %5 : tensor<64x10xf32>
    %7 = stablehlo.reduce(%6 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<64x10xf32>, tensor<f32>) -> tensor<64xf32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [0] : (tensor<64xf32>) -> tensor<64x1xf32>
    %9 = stablehlo.log %8 : tensor<64x1xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1] : (tensor<64x1xf32>) -> tensor<64x10xf32>
    %11 = stablehlo.subtract %5, %10 : tensor<64x10xf32>
    return %11, %6, %8 : tensor<64x10xf32>, tensor<64x10xf32>, tensor<64x1xf32>
  }
  func.func private @_where(%arg0: tensor<64xi1>, %arg1: tensor<64xi32>, %arg2: tensor<i32>) -> tensor<64xi32> {
    %0 = stablehlo.convert %arg2 : tensor<i32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<i32>) -> tensor<64xi32>
    %2 = stablehlo.select %arg0, %arg1, %1 : tensor<64xi1>, tensor<64xi32>
    return %2 : tensor<64xi32>
  }
  func.func private @_where_1(%arg0: tensor<64xi1>, %arg1: tensor<64xf32>, %arg2: tensor<i32>) -> (tensor<64xf32>, tensor<64xf32>) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.convert %arg2 : (tensor<i32>) -> tensor<f32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<64xf32>
    %2 = stablehlo.select %arg0, %arg1, %1 : tensor<64xi1>, tensor<64xf32>
    %3 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<64xf32>
    return %2, %3 : tensor<64xf32>, tensor<64xf32>
  }
  func.func private @_where_2(%arg0: tensor<64xi1>, %arg1: tensor<64xf32>, %arg2: tensor<64xf32>) -> tensor<64xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<64xf32>
    %1 = stablehlo.select %arg0, %arg2, %0 : tensor<64xi1>, tensor<64xf32>
    return %1 : tensor<64xf32>
  }
  func.func private @log_softmax_3(%arg0: tensor<64x10xf32>, %arg1: tensor<64x1xf32>, %arg2: tensor<64x10xf32>) -> tensor<64x10xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.negate %arg2 : tensor<64x10xf32>
    %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<64x10xf32>, tensor<f32>) -> tensor<64xf32>
    %2 = stablehlo.reshape %1 : (tensor<64xf32>) -> tensor<64x1xf32>
    %3 = stablehlo.divide %2, %arg1 : tensor<64x1xf32>
    %4 = stablehlo.reduce(%3 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<64x1xf32>, tensor<f32>) -> tensor<64xf32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<64xf32>) -> tensor<64x10xf32>
    %6 = stablehlo.multiply %5, %arg0 : tensor<64x10xf32>
    %7 = stablehlo.add %arg2, %6 : tensor<64x10xf32>
    return %7 : tensor<64x10xf32>
  }
}
