module @eval_step {
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
  func.func private @StatefulPartitionedCall_Mean_reduction.8(%arg0: tensor<f32>, %arg1: tensor<f32>) -> tensor<f32> {
    %0 = stablehlo.add %arg0, %arg1 : tensor<f32>
    return %0 : tensor<f32>
  }
  func.func @main(%arg0: tensor<35x64xf32> loc("image"), %arg1: tensor<35xi32> loc("label"), %arg2: tensor<64x10xf32> loc("kernel"), %arg3: tensor<10xf32> loc("bias")) -> (tensor<f32>, tensor<f32>, tensor<f32>) {
    %0 = stablehlo.reshape %arg0 : (tensor<35x64xf32>) -> tensor<35x64xf32>
    %cst = stablehlo.constant dense<1.600000e+01> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<35x64xf32>
    %2 = stablehlo.divide %0, %1 : tensor<35x64xf32>
    %3 = stablehlo.dot %2, %arg2, precision = [DEFAULT, DEFAULT] {mhlo.frontend_attributes = {grad_x = "false", grad_y = "false"}} : (tensor<35x64xf32>, tensor<64x10xf32>) -> tensor<35x10xf32>
    %4 = stablehlo.transpose %3, dims = [0, 1] : (tensor<35x10xf32>) -> tensor<35x10xf32>
    %5 = stablehlo.broadcast_in_dim %arg3, dims = [1] : (tensor<10xf32>) -> tensor<35x10xf32>
    %6 = stablehlo.add %4, %5 : tensor<35x10xf32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %7 = stablehlo.reduce(%6 init: %cst_0) applies stablehlo.maximum across dimensions = [1] : (tensor<35x10xf32>, tensor<f32>) -> tensor<35xf32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [0] : (tensor<35xf32>) -> tensor<35x10xf32>
    %9 = stablehlo.subtract %6, %8 : tensor<35x10xf32>
    %10 = stablehlo.exponential %9 : tensor<35x10xf32>
    %11 = stablehlo.convert %10 : tensor<35x10xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %12 = stablehlo.reduce(%11 init: %cst_1) applies stablehlo.add across dimensions = [1] : (tensor<35x10xf32>, tensor<f32>) -> tensor<35xf32>
    %13 = stablehlo.convert %12 : tensor<35xf32>
    %14 = stablehlo.broadcast_in_dim %13, dims = [0] : (tensor<35xf32>) -> tensor<35x10xf32>
    %15 = stablehlo.divide %10, %14 : tensor<35x10xf32>
    %16 = stablehlo.reshape %arg1 : (tensor<35xi32>) -> tensor<35xi32>
    %17 = stablehlo.broadcast_in_dim %16, dims = [0] : (tensor<35xi32>) -> tensor<35x10xi32>
    %18 = stablehlo.iota dim = 1 : tensor<35x10xi32>
    %19 = stablehlo.compare  EQ, %17, %18 : (tensor<35x10xi32>, tensor<35x10xi32>) -> tensor<35x10xi1>
    %cst_2 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %20 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<35x10xf32>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %21 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<35x10xf32>
    %22 = stablehlo.select %19, %20, %21 : tensor<35x10xi1>, tensor<35x10xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %23 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<35xi32>
    %24 = stablehlo.compare  LE, %23, %16 : (tensor<35xi32>, tensor<35xi32>) -> tensor<35xi1>
    %c_4 = stablehlo.constant dense<10> : tensor<i32>
    %25 = stablehlo.broadcast_in_dim %c_4, dims = [] : (tensor<i32>) -> tensor<35xi32>
    %26 = stablehlo.compare  LT, %16, %25 : (tensor<35xi32>, tensor<35xi32>) -> tensor<35xi1>
    %27 = stablehlo.and %24, %26 : tensor<35xi1>
    %cst_5 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %28 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<35xf32>
    %cst_6 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %29 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<35xf32>
    %30 = stablehlo.select %27, %28, %29 : tensor<35xi1>, tensor<35xf32>
    %31 = stablehlo.broadcast_in_dim %30, dims = [0] : (tensor<35xf32>) -> tensor<35x10xf32>
    %32 = stablehlo.add %22, %31 : tensor<35x10xf32>
    %33 = stablehlo.subtract %15, %32 : tensor<35x10xf32>
    %34 = stablehlo.iota dim = 1 : tensor<35x10xi32>
    %cst_7 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %c_8 = stablehlo.constant dense<0> : tensor<i32>
    %35:2 = stablehlo.reduce(%6 init: %cst_7), (%34 init: %c_8) across dimensions = [1] : (tensor<35x10xf32>, tensor<35x10xi32>, tensor<f32>, tensor<i32>) -> (tensor<35xf32>, tensor<35xi32>)
     reducer(%arg4: tensor<f32>, %arg6: tensor<f32>) (%arg5: tensor<i32>, %arg7: tensor<i32>)  {
      %70 = stablehlo.compare  GE, %arg4, %arg6 : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %71 = stablehlo.select %70, %arg4, %arg6 : tensor<i1>, tensor<f32>
      %72 = stablehlo.compare  EQ, %arg4, %arg6 : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %73 = stablehlo.minimum %arg5, %arg7 : tensor<i32>
      %74 = stablehlo.select %70, %arg5, %arg7 : tensor<i1>, tensor<i32>
      %75 = stablehlo.select %72, %73, %74 : tensor<i1>, tensor<i32>
      stablehlo.return %71, %75 : tensor<f32>, tensor<i32>
    }
    %36 = stablehlo.compare  EQ, %35#1, %16 : (tensor<35xi32>, tensor<35xi32>) -> tensor<35xi1>
    %37 = stablehlo.convert %36 : (tensor<35xi1>) -> tensor<35xf32>
    %38 = stablehlo.convert %37 : tensor<35xf32>
    %cst_9 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %39 = stablehlo.convert %cst_9 : tensor<f32>
    %40 = stablehlo.reduce(%38 init: %39) applies stablehlo.add across dimensions = [0] : (tensor<35xf32>, tensor<f32>) -> tensor<f32>
    %41 = stablehlo.convert %40 : tensor<f32>
    %42 = stablehlo.reshape %41 : (tensor<f32>) -> tensor<f32>
    %cst_10 = stablehlo.constant dense<3.500000e+01> : tensor<f32>
    %43 = stablehlo.reshape %cst_10 : (tensor<f32>) -> tensor<f32>
    %44 = stablehlo.negate %32 : tensor<35x10xf32>
    %cst_11 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %45 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f32>) -> tensor<35x10xf32>
    %46 = stablehlo.compare  EQ, %32, %45 : (tensor<35x10xf32>, tensor<35x10xf32>) -> tensor<35x10xi1>
    %cst_12 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %47 = stablehlo.broadcast_in_dim %cst_12, dims = [] : (tensor<f32>) -> tensor<35x10xf32>
    %48 = stablehlo.log %13 : tensor<35xf32>
    %49 = stablehlo.broadcast_in_dim %48, dims = [0] : (tensor<35xf32>) -> tensor<35x10xf32>
    %50 = stablehlo.subtract %9, %49 : tensor<35x10xf32>
    %51 = stablehlo.select %46, %47, %50 : tensor<35x10xi1>, tensor<35x10xf32>
    %52 = stablehlo.multiply %44, %51 : tensor<35x10xf32>
    %53 = stablehlo.convert %52 : tensor<35x10xf32>
    %cst_13 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %54 = stablehlo.reduce(%53 init: %cst_13) applies stablehlo.add across dimensions = [1] : (tensor<35x10xf32>, tensor<f32>) -> tensor<35xf32>
    %55 = stablehlo.convert %54 : tensor<35xf32>
    %56 = stablehlo.convert %55 : tensor<35xf32>
    %cst_14 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %57 = stablehlo.convert %cst_14 : tensor<f32>
    %58 = stablehlo.reduce(%56 init: %57) applies stablehlo.add across dimensions = [0] : (tensor<35xf32>, tensor<f32>) -> tensor<f32>
    %c_15 = stablehlo.constant dense<35> : tensor<i32>
    %59 = stablehlo.convert %c_15 : (tensor<i32>) -> tensor<f32>
    %60 = stablehlo.divide %58, %59 : tensor<f32>
    %61 = stablehlo.convert %60 : tensor<f32>
    %cst_16 = stablehlo.constant dense<9.99999974E-5> : tensor<f32>
    %62 = stablehlo.multiply %arg2, %arg2 : tensor<64x10xf32>
    %63 = stablehlo.convert %62 : tensor<64x10xf32>
    %cst_17 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %64 = stablehlo.convert %cst_17 : tensor<f32>
    %65 = stablehlo.reduce(%63 init: %64) applies stablehlo.add across dimensions = [0, 1] : (tensor<64x10xf32>, tensor<f32>) -> tensor<f32>
    %66 = stablehlo.convert %65 : tensor<f32>
    %67 = stablehlo.multiply %cst_16, %66 : tensor<f32>
    %68 = stablehlo.add %61, %67 : tensor<f32>
    %69 = stablehlo.reshape %68 : (tensor<f32>) -> tensor<f32>
    return %42, %43, %69 : tensor<f32>, tensor<f32>, tensor<f32>
  }
}
