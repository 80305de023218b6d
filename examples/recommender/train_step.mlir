module @jit_train_step attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<16x16xf32> loc("user/user_hidden/kernel"), %arg1: tensor<16xf32> loc("user/user_hidden/bias"), %arg2: tensor<16x8xf32> loc("user/user_out/kernel"), %arg3: tensor<8xf32> loc("user/user_out/bias"), %arg4: tensor<16x16xf32> loc("item/item_hidden/kernel"), %arg5: tensor<16xf32> loc("item/item_hidden/bias"), %arg6: tensor<16x8xf32> loc("item/item_out/kernel"), %arg7: tensor<8xf32> loc("item/item_out/bias"), %arg8: tensor<64x16xf32> loc("rows of user_table/embeddings"), %arg9: tensor<64x16xf32> loc("rows of item_table/embeddings"), %arg10: tensor<64xf32> loc("label")) -> (tensor<f32> {jax.result_info = "loss"}, tensor<16x16xf32> {jax.result_info = "gradient user/user_hidden/kernel"}, tensor<16xf32> {jax.result_info = "gradient user/user_hidden/bias"}, tensor<16x8xf32> {jax.result_info = "gradient user/user_out/kernel"}, tensor<8xf32> {jax.result_info = "gradient user/user_out/bias"}, tensor<16x16xf32> {jax.result_info = "gradient item/item_hidden/kernel"}, tensor<16xf32> {jax.result_info = "gradient item/item_hidden/bias"}, tensor<16x8xf32> {jax.result_info = "gradient item/item_out/kernel"}, tensor<8xf32> {jax.result_info = "gradient item/item_out/bias"}, tensor<64x16xf32> {jax.result_info = "gradient user_table/embeddings"}, tensor<64x16xf32> {jax.result_info = "gradient item_table/embeddings"}) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<1> : tensor<i32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %cst_1 = stablehlo.constant dense<-1.000000e+00> : tensor<f32>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %c_3 = stablehlo.constant dense<64> : tensor<1xi32>
    %0 = stablehlo.dot_general %arg8, %arg0, contracting_dims = [1] x [0] : (tensor<64x16xf32>, tensor<16x16xf32>) -> tensor<64x16xf32>
    %1 = stablehlo.broadcast_in_dim %arg1, dims = [1] : (tensor<16xf32>) -> tensor<1x16xf32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [0, 1] : (tensor<1x16xf32>) -> tensor<64x16xf32>
    %3 = stablehlo.add %0, %2 : tensor<64x16xf32>
    %4 = call @relu(%3) : (tensor<64x16xf32>) -> tensor<64x16xf32>
    %5 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<64x16xf32>
    %6 = stablehlo.compare GT, %3, %5, FLOAT : (tensor<64x16xf32>, tensor<64x16xf32>) -> tensor<64x16xi1>
    %7 = stablehlo.dot_general %4, %arg2, contracting_dims = [1] x [0] : (tensor<64x16xf32>, tensor<16x8xf32>) -> tensor<64x8xf32>
    %8 = stablehlo.broadcast_in_dim %arg3, dims = [1] : (tensor<8xf32>) -> tensor<1x8xf32>
    %9 = stablehlo.broadcast_in_dim %8, dims = [0, 1] : (tensor<1x8xf32>) -> tensor<64x8xf32>
    %10 = stablehlo.add %7, %9 : tensor<64x8xf32>
    %11 = stablehlo.dot_general %arg9, %arg4, contracting_dims = [1] x [0] : (tensor<64x16xf32>, tensor<16x16xf32>) -> tensor<64x16xf32>
    %12 = stablehlo.broadcast_in_dim %arg5, dims = [1] : (tensor<16xf32>) -> tensor<1x16xf32>
    %13 = stablehlo.broadcast_in_dim %12, dims = [0, 1] : (tensor<1x16xf32>) -> tensor<64x16xf32>
    %14 = stablehlo.add %11, %13 : tensor<64x16xf32>
    %15 = call @relu(%14) : (tensor<64x16xf32>) -> tensor<64x16xf32>
    %16 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<64x16xf32>
    %17 = stablehlo.compare GT, %14, %16, FLOAT : (tensor<64x16xf32>, tensor<64x16xf32>) -> tensor<64x16xi1>
    %18 = stablehlo.dot_general %15, %arg6, contracting_dims = [1] x [0] : (tensor<64x16xf32>, tensor<16x8xf32>) -> tensor<64x8xf32>
    %19 = stablehlo.broadcast_in_dim %arg7, dims = [1] : (tensor<8xf32>) -> tensor<1x8xf32>
    %20 = stablehlo.broadcast_in_dim %19, dims = [0, 1] : (tensor<1x8xf32>) -> tensor<64x8xf32>
    %21 = stablehlo.add %18, %20 : tensor<64x8xf32>
    %22 = stablehlo.multiply %10, %21 : tensor<64x8xf32>
    %23 = stablehlo.reduce(%22 init: %cst_2) applies stablehlo.add across dimensions = [1] : (tensor<64x8xf32>, tensor<f32>) -> tensor<64xf32>
    %24 = stablehlo.broadcast_in_dim %arg10, dims = [0] : (tensor<64xf32>) -> tensor<64x1xf32>
    %25 = stablehlo.broadcast_in_dim %23, dims = [0] : (tensor<64xf32>) -> tensor<64x1xf32>
    %26:3 = call @log_sigmoid(%25) : (tensor<64x1xf32>) -> (tensor<64x1xf32>, tensor<64x1xf32>, tensor<64x1xf32>)
    %27 = stablehlo.negate %25 : tensor<64x1xf32>
    %28:3 = call @log_sigmoid(%27) : (tensor<64x1xf32>) -> (tensor<64x1xf32>, tensor<64x1xf32>, tensor<64x1xf32>)
    %29 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<64x1xf32>
    %30 = stablehlo.multiply %29, %24 : tensor<64x1xf32>
    %31 = stablehlo.multiply %30, %26#0 : tensor<64x1xf32>
    %32 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<64x1xf32>
    %33 = stablehlo.subtract %32, %24 : tensor<64x1xf32>
    %34 = stablehlo.multiply %33, %28#0 : tensor<64x1xf32>
    %35 = stablehlo.subtract %31, %34 : tensor<64x1xf32>
    %36 = stablehlo.reduce(%35 init: %cst_2) applies stablehlo.add across dimensions = [1] : (tensor<64x1xf32>, tensor<f32>) -> tensor<64xf32>
    %37 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<64xf32>
    %38 = stablehlo.divide %36, %37 : tensor<64xf32>
    %39 = stablehlo.reduce(%38 init: %cst_2) applies stablehlo.add across dimensions = [0] : (tensor<64xf32>, tensor<f32>) -> tensor<f32>
    %40 = stablehlo.reduce(%c_3 init: %c_0) applies stablehlo.multiply across dimensions = [0] : (tensor<1xi32>, tensor<i32>) -> tensor<i32>
    %41 = stablehlo.convert %40 : (tensor<i32>) -> tensor<f32>
    %42 = stablehlo.compare EQ, %41, %cst_2, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %43 = call @_where(%42, %c_0, %41) : (tensor<i1>, tensor<i32>, tensor<f32>) -> tensor<f32>
    %44 = stablehlo.compare EQ, %41, %cst_2, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %45 = stablehlo.divide %39, %43 : tensor<f32>
    %46:2 = call @_where_0(%44, %c, %45) : (tensor<i1>, tensor<i32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
    %47 = call @_where_1(%44, %46#1, %cst) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %48 = stablehlo.divide %47, %43 : tensor<f32>
    %49 = stablehlo.broadcast_in_dim %48, dims = [] : (tensor<f32>) -> tensor<64xf32>
    %50 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<64xf32>
    %51 = stablehlo.divide %49, %50 : tensor<64xf32>
    %52 = stablehlo.broadcast_in_dim %51, dims = [0] : (tensor<64xf32>) -> tensor<64x1xf32>
    %53 = stablehlo.negate %52 : tensor<64x1xf32>
    %54 = stablehlo.multiply %33, %53 : tensor<64x1xf32>
    %55 = stablehlo.multiply %30, %52 : tensor<64x1xf32>
    %56 = call @log_sigmoid_2(%28#1, %28#2, %54) : (tensor<64x1xf32>, tensor<64x1xf32>, tensor<64x1xf32>) -> tensor<64x1xf32>
    %57 = stablehlo.negate %56 : tensor<64x1xf32>
    %58 = call @log_sigmoid_2(%26#1, %26#2, %55) : (tensor<64x1xf32>, tensor<64x1xf32>, tensor<64x1xf32>) -> tensor<64x1xf32>
    %59 = stablehlo.add %57, %58 : tensor<64x1xf32>
    %60 = stablehlo.reduce(%59 init: %cst_2) applies stablehlo.add across dimensions = [1] : (tensor<64x1xf32>, tensor<f32>) -> tensor<64xf32>
    %61 = stablehlo.broadcast_in_dim %60, dims = [0] : (tensor<64xf32>) -> tensor<64x8xf32>
    %62 = stablehlo.multiply %10, %61 : tensor<64x8xf32>
    %63 = stablehlo.multiply %61, %21 : tensor<64x8xf32>
    %64 = stablehlo.reduce(%62 init: %cst_2) applies stablehlo.add across dimensions = [0] : (tensor<64x8xf32>, tensor<f32>) -> tensor<8xf32>
    %65 = stablehlo.reshape %64 : (tensor<8xf32>) -> tensor<1x8xf32>
    %66 = stablehlo.reduce(%65 init: %cst_2) applies stablehlo.add across dimensions = [0] : (tensor<1x8xf32>, tensor<f32>) -> tensor<8xf32>
    %67 = stablehlo.dot_general %62, %15, contracting_dims = [0] x [0] : (tensor<64x8xf32>, tensor<64x16xf32>) -> tensor<8x16xf32>
    %68 = stablehlo.transpose %67, dims = [1, 0] : (tensor<8x16xf32>) -> tensor<16x8xf32>
    %69 = stablehlo.dot_general %62, %arg6, contracting_dims = [1] x [1] : (tensor<64x8xf32>, tensor<16x8xf32>) -> tensor<64x16xf32>
    %70 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<64x16xf32>
    %71 = stablehlo.select %17, %69, %70 : tensor<64x16xi1>, tensor<64x16xf32>
    %72 = stablehlo.reduce(%71 init: %cst_2) applies stablehlo.add across dimensions = [0] : (tensor<64x16xf32>, tensor<f32>) -> tensor<16xf32>
    %73 = stablehlo.reshape %72 : (tensor<16xf32>) -> tensor<1x16xf32>
    %74 = stablehlo.reduce(%73 init: %cst_2) applies stablehlo.add across dimensions = [0] : (tensor<1x16xf32>, tensor<f32>) -> tensor<16xf32>
    %75 = stablehlo.dot_general %71, %arg9, contracting_dims = [0] x [0] : (tensor<64x16xf32>, tensor<64x16xf32>) -> tensor<16x16xf32>
    %76 = stablehlo.transpose %75, dims = [1, 0] : (tensor<16x16xf32>) -> tensor<16x16xf32>
    %77 = stablehlo.dot_general %71, %arg4, contracting_dims = [1] x [1] : (tensor<64x16xf32>, tensor<16x16xf32>) -> tensor<64x16xf32>
    %78 = stablehlo.reduce(%63 init: %cst_2) applies stablehlo.add across dimensions = [0] : (tensor<64x8xf32>, tensor<f32>) -> tensor<8xf32>
    %79 = stablehlo.reshape %78 : (tensor<8xf32>) -> tensor<1x8xf32>
    %80 = stablehlo.reduce(%79 init: %cst_2) applies stablehlo.add across dimensions = [0] : (tensor<1x8xf32>, tensor<f32>) -> tensor<8xf32>
    %81 = stablehlo.dot_general %63, %4, contracting_dims = [0] x [0] : (tensor<64x8xf32>, tensor<64x16xf32>) -> tensor<8x16xf32>
    %82 = stablehlo.transpose %81, dims = [1, 0] : (tensor<8x16xf32>) -> tensor<16x8xf32>
    %83 = stablehlo.dot_general %63, %arg2, contracting_dims = [1] x [1] : (tensor<64x8xf32>, tensor<16x8xf32>) -> tensor<64x16xf32>
    %84 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<64x16xf32>
    %85 = stablehlo.select %6, %83, %84 : tensor<64x16xi1>, tensor<64x16xf32>
    %86 = stablehlo.reduce(%85 init: %cst_2) applies stablehlo.add across dimensions = [0] : (tensor<64x16xf32>, tensor<f32>) -> tensor<16xf32>
    %87 = stablehlo.reshape %86 : (tensor<16xf32>) -> tensor<1x16xf32>
    %88 = stablehlo.reduce(%87 init: %cst_2) applies stablehlo.add across dimensions = [0] : (tensor<1x16xf32>, tensor<f32>) -> tensor<16xf32>
    %89 = stablehlo.dot_general %85, %arg8, contracting_dims = [0] x [0] : (tensor<64x16xf32>, tensor<64x16xf32>) -> tensor<16x16xf32>
    %90 = stablehlo.transpose %89, dims = [1, 0] : (tensor<16x16xf32>) -> tensor<16x16xf32>
    %91 = stablehlo.dot_general %85, %arg0, contracting_dims = [1] x [1] : (tensor<64x16xf32>, tensor<16x16xf32>) -> tensor<64x16xf32>
    return %46#0, %90, %88, %82, %80, %76, %74, %68, %66, %91, %77 : tensor<f32>, tensor<16x16xf32>, tensor<16xf32>, tensor<16x8xf32>, tensor<8xf32>, tensor<16x16xf32>, tensor<16xf32>, tensor<16x8xf32>, tensor<8xf32>, tensor<64x16xf32>, tensor<64x16xf32>
  }
  func.func private @relu(%arg0: tensor<64x16xf32>) -> tensor<64x16xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<64x16xf32>
    %1 = stablehlo.maximum %arg0, %0 : tensor<64x16xf32>
    return %1 : tensor<64x16xf32>
  }
  func.func private @log_sigmoid(%arg0: tensor<64x1xf32>) -> (tensor<64x1xf32>, tensor<64x1xf32>, tensor<64x1xf32>) {
    %0 = stablehlo.negate %arg0 : tensor<64x1xf32>
    %1:3 = call @softplus(%0) : (tensor<64x1xf32>) -> (tensor<64x1xf32>, tensor<64x1xf32>, tensor<64x1xf32>)
    %2 = stablehlo.negate %1#0 : tensor<64x1xf32>
    return %2, %1#1, %1#2 : tensor<64x1xf32>, tensor<64x1xf32>, tensor<64x1xf32>
  }
  func.func private @softplus(%arg0: tensor<64x1xf32>) -> (tensor<64x1xf32>, tensor<64x1xf32>, tensor<64x1xf32>) {
    %cst = stablehlo.constant dense<0x7F800000> : tensor<f32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<64x1xf32>
    %1 = stablehlo.maximum %arg0, %0 : tensor<64x1xf32>
    %2 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<64x1xf32>
    %3 = stablehlo.subtract %arg0, %2 : tensor<64x1xf32>
    %4 = stablehlo.compare NE, %3, %3, FLOAT : (tensor<64x1xf32>, tensor<64x1xf32>) -> tensor<64x1xi1>
    %5 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<64x1xf32>
    %6 = stablehlo.add %arg0, %5 : tensor<64x1xf32>
    %7 = stablehlo.abs %3 : tensor<64x1xf32>
    %8 = stablehlo.negate %7 : tensor<64x1xf32>
    %9 = stablehlo.exponential %8 : tensor<64x1xf32>
    %10 = stablehlo.log_plus_one %9 : tensor<64x1xf32>
    %11 = stablehlo.add %1, %10 : tensor<64x1xf32>
    %12 = stablehlo.select %4, %6, %11 : tensor<64x1xi1>, tensor<64x1xf32>
    %13 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<64x1xf32>
    %14 = stablehlo.compare EQ, %arg0, %13, FLOAT : (tensor<64x1xf32>, tensor<64x1xf32>) -> tensor<64x1xi1>
    %15 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<64x1xf32>
    %16 = stablehlo.select %14, %15, %arg0 : tensor<64x1xi1>, tensor<64x1xf32>
    %17 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<64x1xf32>
    %18 = stablehlo.compare EQ, %12, %17, FLOAT : (tensor<64x1xf32>, tensor<64x1xf32>) -> tensor<64x1xi1>
    %19 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<64x1xf32>
    %20 = stablehlo.select %18, %19, %12 : tensor<64x1xi1>, tensor<64x1xf32>
    %21 = stablehlo.subtract %16, %20 : tensor<64x1xf32>
    %22 = stablehlo.exponential %21 : tensor<64x1xf32>
    %23 = stablehlo.compare EQ, %cst_0, %cst, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %24 = stablehlo.select %23, %cst_0, %cst_0 : tensor<i1>, tensor<f32>
    %25 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<64x1xf32>
    %26 = stablehlo.compare EQ, %12, %25, FLOAT : (tensor<64x1xf32>, tensor<64x1xf32>) -> tensor<64x1xi1>
    %27 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<64x1xf32>
    %28 = stablehlo.select %26, %27, %12 : tensor<64x1xi1>, tensor<64x1xf32>
    %29 = stablehlo.broadcast_in_dim %24, dims = [] : (tensor<f32>) -> tensor<64x1xf32>
    %30 = stablehlo.subtract %29, %28 : tensor<64x1xf32>
    %31 = stablehlo.exponential %30 : tensor<64x1xf32>
    %32 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<64x1xf32>
    %33 = stablehlo.multiply %32, %31 : tensor<64x1xf32>
    return %12, %22, %33 : tensor<64x1xf32>, tensor<64x1xf32>, tensor<64x1xf32>
  }
  func.func private @_where(%arg0: tensor<i1>, %arg1: tensor<i32>, %arg2: tensor<f32>) -> tensor<f32> {
    %0 = stablehlo.convert %arg1 : (tensor<i32>) -> tensor<f32>
    %1 = stablehlo.select %arg0, %0, %arg2 : tensor<i1>, tensor<f32>
    return %1 : tensor<f32>
  }
  func.func private @_where_0(%arg0: tensor<i1>, %arg1: tensor<i32>, %arg2: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.convert %arg1 : (tensor<i32>) -> tensor<f32>
    %1 = stablehlo.select %arg0, %0, %arg2 : tensor<i1>, tensor<f32>
    return %1, %cst : tensor<f32>, tensor<f32>
  }
  func.func private @_where_1(%arg0: tensor<i1>, %arg1: tensor<f32>, %arg2: tensor<f32>) -> tensor<f32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.select %arg0, %cst, %arg2 : tensor<i1>, tensor<f32>
    return %0 : tensor<f32>
  }
  func.func private @log_sigmoid_2(%arg0: tensor<64x1xf32>, %arg1: tensor<64x1xf32>, %arg2: tensor<64x1xf32>) -> tensor<64x1xf32> {
    %0 = stablehlo.negate %arg2 : tensor<64x1xf32>
    %1 = call @softplus_3(%arg0, %arg1, %0) : (tensor<64x1xf32>, tensor<64x1xf32>, tensor<64x1xf32>) -> tensor<64x1xf32>
    %2 = stablehlo.negate %1 : tensor<64x1xf32>
    return %2 : tensor<64x1xf32>
  }
  func.func private @softplus_3(%arg0: tensor<64x1xf32>, %arg1: tensor<64x1xf32>, %arg2: tensor<64x1xf32>) -> tensor<64x1xf32> {
    %0 = stablehlo.multiply %arg2, %arg0 : tensor<64x1xf32>
    return %0 : tensor<64x1xf32>
  }
}
