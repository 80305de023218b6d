module @train_step {
  func.func private @StatefulPartitionedCall_Sum_1_reduction.1(%arg0: tensor<f32>, %arg1: tensor<f32>) -> tensor<f32> {
    %0 = stablehlo.add %arg0, %arg1 : tensor<f32>
    return %0 : tensor<f32>
  }
  func.func private @minmax_func.3(%arg0: tensor<f32>, %arg1: tensor<i32>, %arg2: tensor<f32>, %arg3: tensor<i32>) -> (tensor<f32>, tensor<i32>) {
    %0 = stablehlo.compare  GE, %arg0, %arg2 : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %1 = stablehlo.select %0, %arg0, %arg2 : tensor<i1>, tensor<f32>
    %2 = stablehlo.compare  EQ, %arg0, %arg2 : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %3 = stablehlo.minimum %arg1, %arg3 : tensor<i32>
    %4 = stablehlo.select %0, %arg1, %arg3 : tensor<i1>, tensor<i32>
    %5 = stablehlo.select %2, %3, %4 : tensor<i1>, tensor<i32>
    return %1, %5 : tensor<f32>, tensor<i32>
  }
  func.func private @StatefulPartitionedCall_Sum_reduction.4(%arg0: tensor<f32>, %arg1: tensor<f32>) -> tensor<f32> {
    %0 = stablehlo.add %arg0, %arg1 : tensor<f32>
    return %0 : tensor<f32>
  }
  func.func private @max_float_.5(%arg0: tensor<f32>, %arg1: tensor<f32>) -> tensor<f32> {
    %0 = stablehlo.maximum %arg0, %arg1 : tensor<f32>
    return %0 : tensor<f32>
  }
  func.func private @add_float_.6(%arg0: tensor<f32>, %arg1: tensor<f32>) -> tensor<f32> {
    %0 = stablehlo.add %arg0, %arg1 : tensor<f32>
    return %0 : tensor<f32>
  }
  func.func private @add_float_.7(%arg0: tensor<f32>, %arg1: tensor<f32>) -> tensor<f32> {
    %0 = stablehlo.add %arg0, %arg1 : tensor<f32>
    return %0 : tensor<f32>
  }
  func.func private @PartitionedCall_gradients_add_grad_Sum_reduction.8(%arg0: tensor<f32>, %arg1: tensor<f32>) -> tensor<f32> {
    %0 = stablehlo.add %arg0, %arg1 : tensor<f32>
    return %0 : tensor<f32>
  }
  func.func private @StatefulPartitionedCall_Mean_reduction.9(%arg0: tensor<f32>, %arg1: tensor<f32>) -> tensor<f32> {
    %0 = stablehlo.add %arg0, %arg1 : tensor<f32>
    return %0 : tensor<f32>
  }
  func.func @main(%arg0: tensor<64x64xf32> loc("image"), %arg1: tensor<64xi32> loc("label"), %arg2: tensor<64x10xf32> loc("kernel"), %arg3: tensor<10xf32> loc("bias")) -> (tensor<f32>, tensor<64x10xf32>, tensor<10xf32>, tensor<f32>, tensor<f32>) {
    %0 = stablehlo.reshape %arg1 : (tensor<64xi32>) -> tensor<64xi32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [0] : (tensor<64xi32>) -> tensor<64x10xi32>
    %2 = stablehlo.iota dim = 1 : tensor<64x10xi32>
    %3 = stablehlo.compare  EQ, %1, %2 : (tensor<64x10xi32>, tensor<64x10xi32>) -> tensor<64x10xi1>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<64x10xf32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %5 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<64x10xf32>
    %6 = stablehlo.select %3, %4, %5 : tensor<64x10xi1>, tensor<64x10xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %7 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<64xi32>
    %8 = stablehlo.compare  LE, %7, %0 : (tensor<64xi32>, tensor<64xi32>) -> tensor<64xi1>
    %c_1 = stablehlo.constant dense<10> : tensor<i32>
    %9 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<i32>) -> tensor<64xi32>
    %10 = stablehlo.compare  LT, %0, %9 : (tensor<64xi32>, tensor<64xi32>) -> tensor<64xi1>
    %11 = stablehlo.and %8, %10 : tensor<64xi1>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %12 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<64xf32>
    %cst_3 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %13 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<64xf32>
    %14 = stablehlo.select %11, %12, %13 : tensor<64xi1>, tensor<64xf32>
    %15 = stablehlo.broadcast_in_dim %14, dims = [0] : (tensor<64xf32>) -> tensor<64x10xf32>
    %16 = stablehlo.add %6, %15 : tensor<64x10xf32>
    %17 = stablehlo.negate %16 : tensor<64x10xf32>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %18 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<64x10xf32>
    %19 = stablehlo.compare  EQ, %16, %18 : (tensor<64x10xf32>, tensor<64x10xf32>) -> tensor<64x10xi1>
    %cst_5 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %20 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<64x10xf32>
    %21 = stablehlo.reshape %arg0 : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %cst_6 = stablehlo.constant dense<1.600000e+01> : tensor<f32>
    %22 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<64x64xf32>
    %23 = stablehlo.divide %21, %22 : tensor<64x64xf32>
    %24 = stablehlo.dot %23, %arg2, precision = [DEFAULT, DEFAULT] {mhlo.frontend_attributes = {grad_x = "false", grad_y = "false"}} : (tensor<64x64xf32>, tensor<64x10xf32>) -> tensor<64x10xf32>
    %25 = stablehlo.transpose %24, dims = [0, 1] : (tensor<64x10xf32>) -> tensor<64x10xf32>
    %26 = stablehlo.broadcast_in_dim %arg3, dims = [1] : (tensor<10xf32>) -> tensor<64x10xf32>
    %27 = stablehlo.add %25, %26 : tensor<64x10xf32>
    %cst_7 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %28 = stablehlo.reduce(%27 init: %cst_7) applies stablehlo.maximum across dimensions = [1] : (tensor<64x10xf32>, tensor<f32>) -> tensor<64xf32>
    %29 = stablehlo.broadcast_in_dim %28, dims = [0] : (tensor<64xf32>) -> tensor<64x10xf32>
    %30 = stablehlo.subtract %27, %29 : tensor<64x10xf32>
    %31 = stablehlo.exponential %30 : tensor<64x10xf32>
    %32 = stablehlo.convert %31 : tensor<64x10xf32>
    %cst_8 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %33 = stablehlo.reduce(%32 init: %cst_8) applies stablehlo.add across dimensions = [1] : (tensor<64x10xf32>, tensor<f32>) -> tensor<64xf32>
    %34 = stablehlo.convert %33 : tensor<64xf32>
    %35 = stablehlo.log %34 : tensor<64xf32>
    %36 = stablehlo.broadcast_in_dim %35, dims = [0] : (tensor<64xf32>) -> tensor<64x10xf32>
    %37 = stablehlo.subtract %30, %36 : tensor<64x10xf32>
    %38 = stablehlo.select %19, %20, %37 : tensor<64x10xi1>, tensor<64x10xf32>
    %39 = stablehlo.multiply %17, %38 : tensor<64x10xf32>
    %40 = stablehlo.convert %39 : tensor<64x10xf32>
    %cst_9 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %41 = stablehlo.reduce(%40 init: %cst_9) applies stablehlo.add across dimensions = [1] : (tensor<64x10xf32>, tensor<f32>) -> tensor<64xf32>
    %42 = stablehlo.convert %41 : tensor<64xf32>
    %43 = stablehlo.convert %42 : tensor<64xf32>
    %cst_10 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %44 = stablehlo.convert %cst_10 : tensor<f32>
    %45 = stablehlo.reduce(%43 init: %44) applies stablehlo.add across dimensions = [0] : (tensor<64xf32>, tensor<f32>) -> tensor<f32>
    %c_11 = stablehlo.constant dense<64> : tensor<i32>
    %46 = stablehlo.convert %c_11 : (tensor<i32>) -> tensor<f32>
    %47 = stablehlo.divide %45, %46 : tensor<f32>
    %48 = stablehlo.convert %47 : tensor<f32>
    %cst_12 = stablehlo.constant dense<9.99999974E-5> : tensor<f32>
    %49 = stablehlo.multiply %arg2, %arg2 : tensor<64x10xf32>
    %50 = stablehlo.convert %49 : tensor<64x10xf32>
    %cst_13 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %51 = stablehlo.convert %cst_13 : tensor<f32>
    %52 = stablehlo.reduce(%50 init: %51) applies stablehlo.add across dimensions = [0, 1] : (tensor<64x10xf32>, tensor<f32>) -> tensor<f32>
    %53 = stablehlo.convert %52 : tensor<f32>
    %54 = stablehlo.multiply %cst_12, %53 : tensor<f32>
    %55 = stablehlo.add %48, %54 : tensor<f32>
    %56 = stablehlo.reshape %55 : (tensor<f32>) -> tensor<f32>
    %cst_14 = stablehlo.constant dense<9.99999974E-5> : tensor<f32>
    %57 = stablehlo.broadcast_in_dim %cst_14, dims = [] : (tensor<f32>) -> tensor<64x10xf32>
    %58 = stablehlo.multiply %57, %arg2 : tensor<64x10xf32>
    %cst_15 = stablehlo.constant dense<9.99999974E-5> : tensor<f32>
    %59 = stablehlo.broadcast_in_dim %cst_15, dims = [] : (tensor<f32>) -> tensor<64x10xf32>
    %60 = stablehlo.multiply %59, %arg2 : tensor<64x10xf32>
    %61 = stablehlo.add %58, %60 : tensor<64x10xf32>
    %cst_16 = stablehlo.constant dense<1.562500e-02> : tensor<f32>
    %62 = stablehlo.broadcast_in_dim %cst_16, dims = [] : (tensor<f32>) -> tensor<64x1xf32>
    %63 = stablehlo.reshape %62 : (tensor<64x1xf32>) -> tensor<64xf32>
    %64 = stablehlo.broadcast_in_dim %63, dims = [0] : (tensor<64xf32>) -> tensor<64x10xf32>
    %65 = stablehlo.broadcast_in_dim %34, dims = [0] : (tensor<64xf32>) -> tensor<64x10xf32>
    %66 = stablehlo.divide %31, %65 : tensor<64x10xf32>
    %67 = stablehlo.subtract %66, %16 : tensor<64x10xf32>
    %68 = stablehlo.multiply %64, %67 : tensor<64x10xf32>
    %69 = stablehlo.dot_general %23, %68, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] {mhlo.frontend_attributes = {grad_x = "false", grad_y = "true"}} : (tensor<64x64xf32>, tensor<64x10xf32>) -> tensor<64x10xf32>
    %70 = stablehlo.transpose %69, dims = [0, 1] : (tensor<64x10xf32>) -> tensor<64x10xf32>
    %71 = stablehlo.add %61, %70 : tensor<64x10xf32>
    %72 = stablehlo.reshape %71 : (tensor<64x10xf32>) -> tensor<64x10xf32>
    %73 = stablehlo.convert %68 : tensor<64x10xf32>
    %cst_17 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %74 = stablehlo.convert %cst_17 : tensor<f32>
    %75 = stablehlo.reduce(%73 init: %74) applies stablehlo.add across dimensions = [0] : (tensor<64x10xf32>, tensor<f32>) -> tensor<10xf32>
    %76 = stablehlo.convert %75 : tensor<10xf32>
    %77 = stablehlo.reshape %76 : (tensor<10xf32>) -> tensor<1x10xf32>
    %78 = stablehlo.reshape %77 : (tensor<1x10xf32>) -> tensor<10xf32>
    %79 = stablehlo.reshape %78 : (tensor<10xf32>) -> tensor<10xf32>
    %80 = stablehlo.iota dim = 1 : tensor<64x10xi32>
    %cst_18 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %c_19 = stablehlo.constant dense<0> : tensor<i32>
    %81:2 = stablehlo.reduce(%27 init: %cst_18), (%80 init: %c_19) across dimensions = [1] : (tensor<64x10xf32>, tensor<64x10xi32>, tensor<f32>, tensor<i32>) -> (tensor<64xf32>, tensor<64xi32>)
     reducer(%arg4: tensor<f32>, %arg6: tensor<f32>) (%arg5: tensor<i32>, %arg7: tensor<i32>)  {
      %90 = stablehlo.compare  GE, %arg4, %arg6 : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %91 = stablehlo.select %90, %arg4, %arg6 : tensor<i1>, tensor<f32>
      %92 = stablehlo.compare  EQ, %arg4, %arg6 : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %93 = stablehlo.minimum %arg5, %arg7 : tensor<i32>
      %94 = stablehlo.select %90, %arg5, %arg7 : tensor<i1>, tensor<i32>
      %95 = stablehlo.select %92, %93, %94 : tensor<i1>, tensor<i32>
      stablehlo.return %91, %95 : tensor<f32>, tensor<i32>
    }
    %82 = stablehlo.compare  EQ, %81#1, %0 : (tensor<64xi32>, tensor<64xi32>) -> tensor<64xi1>
    %83 = stablehlo.convert %82 : (tensor<64xi1>) -> tensor<64xf32>
    %84 = stablehlo.convert %83 : tensor<64xf32>
    %cst_20 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %85 = stablehlo.convert %cst_20 : tensor<f32>
    %86 = stablehlo.reduce(%84 init: %85) applies stablehlo.add across dimensions = [0] : (tensor<64xf32>, tensor<f32>) -> tensor<f32>
    %87 = stablehlo.convert %86 : tensor<f32>
    %88 = stablehlo.reshape %87 : (tensor<f32>) -> tensor<f32>
    %cst_21 = stablehlo.constant dense<6.400000e+01> : tensor<f32>
    %89 = stablehlo.reshape %cst_21 : (tensor<f32>) -> tensor<f32>
    return %56, %72, %79, %88, %89 : tensor<f32>, tensor<64x10xf32>, tensor<10xf32>, tensor<f32>, tensor<f32>
  }
}
