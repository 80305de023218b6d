module @jit_whole attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x4x4xf32>, %arg1: tensor<2x4x4xf32>, %arg2: tensor<2x4x3xf32>, %arg3: tensor<2x4x3xf32>, %arg4: tensor<2x4x4xf64>, %arg5: tensor<2x4x4xf64>, %arg6: tensor<2x4x3xf64>, %arg7: tensor<2x4x3xf64>) -> (tensor<2x4x3xf32> {jax.result_info = "result[0]"}, tensor<2x4x4xf32> {jax.result_info = "result[1]"}, tensor<2xf32> {jax.result_info = "result[2]"}, tensor<2xf32> {jax.result_info = "result[3]"}, tensor<2xf32> {jax.result_info = "result[4]"}, tensor<2x4x4xf32> {jax.result_info = "result[5]"}, tensor<2x4x3xf32> {jax.result_info = "result[6]"}, tensor<0x4x4xf32> {jax.result_info = "result[7]"}, tensor<2x4x3xf32> {jax.result_info = "result[8]"}, tensor<2x4x3xf32> {jax.result_info = "result[9]"}, tensor<2x4x4xf32> {jax.result_info = "result[10]"}, tensor<2x4x4xf32> {jax.result_info = "result[11]"}, tensor<2xf32> {jax.result_info = "result[12]"}, tensor<2xf32> {jax.result_info = "result[13]"}, tensor<2xf32> {jax.result_info = "result[14]"}, tensor<2xf32> {jax.result_info = "result[15]"}, tensor<2xf32> {jax.result_info = "result[16]"}, tensor<2x4x4xf32> {jax.result_info = "result[17]"}, tensor<2x4x3xf32> {jax.result_info = "result[18]"}, tensor<2x4x3xf32> {jax.result_info = "result[19]"}, tensor<2x4x4xf32> {jax.result_info = "result[20]"}, tensor<2x4x4xf32> {jax.result_info = "result[21]"}, tensor<2x4x3xf64> {jax.result_info = "result[22]"}, tensor<2x4x4xf64> {jax.result_info = "result[23]"}, tensor<2xf64> {jax.result_info = "result[24]"}, tensor<2xf64> {jax.result_info = "result[25]"}, tensor<2xf64> {jax.result_info = "result[26]"}, tensor<2x4x4xf64> {jax.result_info = "result[27]"}, tensor<2x4x3xf64> {jax.result_info = "result[28]"}, tensor<2x4x4xf64> {jax.result_info = "result[29]"}, tensor<2x4x3xf64> {jax.result_info = "result[30]"}, tensor<2x4x3xf64> {jax.result_info = "result[31]"}, tensor<2x4x4xf64> {jax.result_info = "result[32]"}, tensor<2x4x4xf64> {jax.result_info = "result[33]"}, tensor<2xf64> {jax.result_info = "result[34]"}, tensor<2xf64> {jax.result_info = "result[35]"}, tensor<2xf64> {jax.result_info = "result[36]"}, tensor<2xf64> {jax.result_info = "result[37]"}, tensor<2xf64> {jax.result_info = "result[38]"}, tensor<2x4x4xf64> {jax.result_info = "result[39]"}, tensor<2x4x3xf64> {jax.result_info = "result[40]"}, tensor<2x4x3xf64> {jax.result_info = "result[41]"}, tensor<0x4x4xf64> {jax.result_info = "result[42]"}, tensor<0x4x4xf64> {jax.result_info = "result[43]"}) {
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f64>
    %cst_0 = stablehlo.constant dense<2.000000e+00> : tensor<f64>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %cst_2 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %cst_3 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0:2 = call @slogdet(%arg0) : (tensor<2x4x4xf32>) -> (tensor<2xf32>, tensor<2xf32>)
    %1:3 = call @lu(%arg2) : (tensor<2x4x3xf32>) -> (tensor<2x4x4xf32>, tensor<2x4x3xf32>, tensor<2x3x3xf32>)
    %2 = call @solve(%arg0, %arg2) : (tensor<2x4x4xf32>, tensor<2x4x3xf32>) -> tensor<2x4x3xf32>
    %3 = call @inv(%arg0) : (tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
    %4 = call @det(%arg0) : (tensor<2x4x4xf32>) -> tensor<2xf32>
    %5 = stablehlo.dot_general %1#1, %1#2, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x3xf32>, tensor<2x3x3xf32>) -> tensor<2x4x3xf32>
    %6 = stablehlo.slice %arg0 [0:0, 0:4, 0:4] : (tensor<2x4x4xf32>) -> tensor<0x4x4xf32>
    %7 = stablehlo.complex %arg0, %arg1 : tensor<2x4x4xcomplex<f32>>
    %8 = stablehlo.complex %arg2, %arg3 : tensor<2x4x3xcomplex<f32>>
    %9:2 = call @slogdet_4(%7) : (tensor<2x4x4xcomplex<f32>>) -> (tensor<2xcomplex<f32>>, tensor<2xf32>)
    %10:3 = call @lu_7(%8) : (tensor<2x4x3xcomplex<f32>>) -> (tensor<2x4x4xf32>, tensor<2x4x3xcomplex<f32>>, tensor<2x3x3xcomplex<f32>>)
    %11 = call @solve_11(%7, %8) : (tensor<2x4x4xcomplex<f32>>, tensor<2x4x3xcomplex<f32>>) -> tensor<2x4x3xcomplex<f32>>
    %12 = call @inv_13(%7) : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %13 = call @det_16(%7) : (tensor<2x4x4xcomplex<f32>>) -> tensor<2xcomplex<f32>>
    %14 = stablehlo.dot_general %10#1, %10#2, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x3xcomplex<f32>>, tensor<2x3x3xcomplex<f32>>) -> tensor<2x4x3xcomplex<f32>>
    %15:6 = call @slogdet_17(%7) : (tensor<2x4x4xcomplex<f32>>) -> (tensor<2xcomplex<f32>>, tensor<2xf32>, tensor<2x4x4xcomplex<f32>>, tensor<2x4xi32>, tensor<2x4x4xi1>, tensor<2x4x4xcomplex<f32>>)
    %16 = stablehlo.abs %15#1 : tensor<2xf32>
    %17 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %18 = stablehlo.compare GE, %15#1, %17, FLOAT : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
    %19 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %20 = stablehlo.multiply %19, %16 : tensor<2xf32>
    %21 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %22 = stablehlo.multiply %21, %20 : tensor<2xf32>
    %23 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %24 = stablehlo.select %18, %23, %22 : tensor<2xi1>, tensor<2xf32>
    %25 = stablehlo.select %18, %22, %23 : tensor<2xi1>, tensor<2xf32>
    %26 = stablehlo.negate %24 : tensor<2xf32>
    %27 = stablehlo.add %25, %26 : tensor<2xf32>
    %28 = call @slogdet_26(%7, %15#2, %15#3, %15#4, %15#5, %27) : (tensor<2x4x4xcomplex<f32>>, tensor<2x4x4xcomplex<f32>>, tensor<2x4xi32>, tensor<2x4x4xi1>, tensor<2x4x4xcomplex<f32>>, tensor<2xf32>) -> tensor<2x4x4xcomplex<f32>>
    %29 = stablehlo.real %11 : (tensor<2x4x3xcomplex<f32>>) -> tensor<2x4x3xf32>
    %30 = stablehlo.imag %11 : (tensor<2x4x3xcomplex<f32>>) -> tensor<2x4x3xf32>
    %31 = stablehlo.real %12 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %32 = stablehlo.imag %12 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %33 = stablehlo.real %13 : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
    %34 = stablehlo.imag %13 : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
    %35 = stablehlo.real %9#0 : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
    %36 = stablehlo.imag %9#0 : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
    %37 = stablehlo.real %14 : (tensor<2x4x3xcomplex<f32>>) -> tensor<2x4x3xf32>
    %38 = stablehlo.imag %14 : (tensor<2x4x3xcomplex<f32>>) -> tensor<2x4x3xf32>
    %39 = stablehlo.real %28 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %40 = stablehlo.imag %28 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %41:2 = call @slogdet_31(%arg4) : (tensor<2x4x4xf64>) -> (tensor<2xf64>, tensor<2xf64>)
    %42:3 = call @lu_34(%arg6) : (tensor<2x4x3xf64>) -> (tensor<2x4x4xf64>, tensor<2x4x3xf64>, tensor<2x3x3xf64>)
    %43 = call @solve_38(%arg4, %arg6) : (tensor<2x4x4xf64>, tensor<2x4x3xf64>) -> tensor<2x4x3xf64>
    %44 = call @inv_40(%arg4) : (tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %45 = call @det_43(%arg4) : (tensor<2x4x4xf64>) -> tensor<2xf64>
    %46 = stablehlo.dot_general %42#1, %42#2, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x3xf64>, tensor<2x3x3xf64>) -> tensor<2x4x3xf64>
    %47:6 = call @slogdet_44(%arg4) : (tensor<2x4x4xf64>) -> (tensor<2xf64>, tensor<2xf64>, tensor<2x4x4xf64>, tensor<2x4xi32>, tensor<2x4x4xi1>, tensor<2x4x4xf64>)
    %48 = stablehlo.abs %47#1 : tensor<2xf64>
    %49 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f64>) -> tensor<2xf64>
    %50 = stablehlo.compare GE, %47#1, %49, FLOAT : (tensor<2xf64>, tensor<2xf64>) -> tensor<2xi1>
    %51 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f64>) -> tensor<2xf64>
    %52 = stablehlo.multiply %51, %48 : tensor<2xf64>
    %53 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<2xf64>
    %54 = stablehlo.multiply %53, %52 : tensor<2xf64>
    %55 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f64>) -> tensor<2xf64>
    %56 = stablehlo.select %50, %55, %54 : tensor<2xi1>, tensor<2xf64>
    %57 = stablehlo.select %50, %54, %55 : tensor<2xi1>, tensor<2xf64>
    %58 = stablehlo.negate %56 : tensor<2xf64>
    %59 = stablehlo.add %57, %58 : tensor<2xf64>
    %60 = call @slogdet_51(%arg4, %47#2, %47#3, %47#4, %47#5, %59) : (tensor<2x4x4xf64>, tensor<2x4x4xf64>, tensor<2x4xi32>, tensor<2x4x4xi1>, tensor<2x4x4xf64>, tensor<2xf64>) -> tensor<2x4x4xf64>
    %61 = stablehlo.complex %arg4, %arg5 : tensor<2x4x4xcomplex<f64>>
    %62 = stablehlo.complex %arg6, %arg7 : tensor<2x4x3xcomplex<f64>>
    %63:2 = call @slogdet_56(%61) : (tensor<2x4x4xcomplex<f64>>) -> (tensor<2xcomplex<f64>>, tensor<2xf64>)
    %64:3 = call @lu_59(%62) : (tensor<2x4x3xcomplex<f64>>) -> (tensor<2x4x4xf64>, tensor<2x4x3xcomplex<f64>>, tensor<2x3x3xcomplex<f64>>)
    %65 = call @solve_63(%61, %62) : (tensor<2x4x4xcomplex<f64>>, tensor<2x4x3xcomplex<f64>>) -> tensor<2x4x3xcomplex<f64>>
    %66 = call @inv_65(%61) : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %67 = call @det_68(%61) : (tensor<2x4x4xcomplex<f64>>) -> tensor<2xcomplex<f64>>
    %68 = stablehlo.dot_general %64#1, %64#2, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x3xcomplex<f64>>, tensor<2x3x3xcomplex<f64>>) -> tensor<2x4x3xcomplex<f64>>
    %69 = stablehlo.slice %61 [0:0, 0:4, 0:4] : (tensor<2x4x4xcomplex<f64>>) -> tensor<0x4x4xcomplex<f64>>
    %70 = stablehlo.real %65 : (tensor<2x4x3xcomplex<f64>>) -> tensor<2x4x3xf64>
    %71 = stablehlo.imag %65 : (tensor<2x4x3xcomplex<f64>>) -> tensor<2x4x3xf64>
    %72 = stablehlo.real %66 : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xf64>
    %73 = stablehlo.imag %66 : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xf64>
    %74 = stablehlo.real %67 : (tensor<2xcomplex<f64>>) -> tensor<2xf64>
    %75 = stablehlo.imag %67 : (tensor<2xcomplex<f64>>) -> tensor<2xf64>
    %76 = stablehlo.real %63#0 : (tensor<2xcomplex<f64>>) -> tensor<2xf64>
    %77 = stablehlo.imag %63#0 : (tensor<2xcomplex<f64>>) -> tensor<2xf64>
    %78 = stablehlo.real %68 : (tensor<2x4x3xcomplex<f64>>) -> tensor<2x4x3xf64>
    %79 = stablehlo.imag %68 : (tensor<2x4x3xcomplex<f64>>) -> tensor<2x4x3xf64>
    %80 = stablehlo.real %69 : (tensor<0x4x4xcomplex<f64>>) -> tensor<0x4x4xf64>
    %81 = stablehlo.imag %69 : (tensor<0x4x4xcomplex<f64>>) -> tensor<0x4x4xf64>
    return %2, %3, %4, %0#0, %0#1, %1#0, %5, %6, %29, %30, %31, %32, %33, %34, %35, %36, %9#1, %10#0, %37, %38, %39, %40, %43, %44, %45, %41#0, %41#1, %42#0, %46, %60, %70, %71, %72, %73, %74, %75, %76, %77, %63#1, %64#0, %78, %79, %80, %81 : tensor<2x4x3xf32>, tensor<2x4x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2x4x4xf32>, tensor<2x4x3xf32>, tensor<0x4x4xf32>, tensor<2x4x3xf32>, tensor<2x4x3xf32>, tensor<2x4x4xf32>, tensor<2x4x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2x4x4xf32>, tensor<2x4x3xf32>, tensor<2x4x3xf32>, tensor<2x4x4xf32>, tensor<2x4x4xf32>, tensor<2x4x3xf64>, tensor<2x4x4xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2x4x4xf64>, tensor<2x4x3xf64>, tensor<2x4x4xf64>, tensor<2x4x3xf64>, tensor<2x4x3xf64>, tensor<2x4x4xf64>, tensor<2x4x4xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2x4x4xf64>, tensor<2x4x3xf64>, tensor<2x4x3xf64>, tensor<0x4x4xf64>, tensor<0x4x4xf64>
  }
  func.func private @slogdet(%arg0: tensor<2x4x4xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %c = stablehlo.constant dense<-2> : tensor<i64>
    %c_1 = stablehlo.constant dense<2> : tensor<i64>
    %c_2 = stablehlo.constant dense<false> : tensor<i1>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %c_4 = stablehlo.constant dense<1> : tensor<i64>
    %c_5 = stablehlo.constant dense<4> : tensor<i64>
    %c_6 = stablehlo.constant dense<0> : tensor<i64>
    %cst_7 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %c_8 = stablehlo.constant dense<0> : tensor<i32>
    %c_9 = stablehlo.constant dense<1> : tensor<i32>
    %0:3 = stablehlo.custom_call @lapack_sgetrf_ffi(%arg0) {mhlo.backend_config = {}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x4xf32>) -> (tensor<2x4x4xf32>, tensor<2x4xi32>, tensor<2xi32>)
    %1 = stablehlo.broadcast_in_dim %c_9, dims = [] : (tensor<i32>) -> tensor<2x4xi32>
    %2 = stablehlo.subtract %0#1, %1 : tensor<2x4xi32>
    %3 = stablehlo.broadcast_in_dim %c_8, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %4 = stablehlo.compare GE, %0#2, %3, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %6 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<2x4x4xf32>
    %7 = stablehlo.broadcast_in_dim %5, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x4x4xi1>
    %8 = stablehlo.select %7, %0#0, %6 : tensor<2x4x4xi1>, tensor<2x4x4xf32>
    %9 = stablehlo.iota dim = 1 : tensor<2x4xi32>
    %10:4 = stablehlo.while(%iterArg = %2, %iterArg_10 = %c_6, %iterArg_11 = %c_6, %iterArg_12 = %9) : tensor<2x4xi32>, tensor<i64>, tensor<i64>, tensor<2x4xi32>
    cond {
      %37 = stablehlo.compare LT, %iterArg_10, %c_5, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %37 : tensor<i1>
    } do {
      %37:2 = func.call @closed_call(%iterArg, %iterArg_11, %iterArg_12) : (tensor<2x4xi32>, tensor<i64>, tensor<2x4xi32>) -> (tensor<i64>, tensor<2x4xi32>)
      %38 = stablehlo.add %iterArg_10, %c_4 : tensor<i64>
      stablehlo.return %iterArg, %38, %37#0, %37#1 : tensor<2x4xi32>, tensor<i64>, tensor<i64>, tensor<2x4xi32>
    }
    %11 = call @diagonal(%8) : (tensor<2x4x4xf32>) -> tensor<2x4xf32>
    %12 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<2x4xf32>
    %13 = stablehlo.compare EQ, %11, %12, FLOAT : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xi1>
    %14 = stablehlo.reduce(%13 init: %c_2) applies stablehlo.or across dimensions = [1] : (tensor<2x4xi1>, tensor<i1>) -> tensor<2xi1>
    %15 = stablehlo.iota dim = 0 : tensor<4xi32>
    %16 = stablehlo.broadcast_in_dim %15, dims = [1] : (tensor<4xi32>) -> tensor<1x4xi32>
    %17 = stablehlo.broadcast_in_dim %16, dims = [0, 1] : (tensor<1x4xi32>) -> tensor<2x4xi32>
    %18 = stablehlo.compare NE, %2, %17, SIGNED : (tensor<2x4xi32>, tensor<2x4xi32>) -> tensor<2x4xi1>
    %19 = call @count_nonzero(%18) : (tensor<2x4xi1>) -> tensor<2xi64>
    %20 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<2x4xf32>
    %21 = stablehlo.compare LT, %11, %20, FLOAT : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xi1>
    %22 = call @count_nonzero(%21) : (tensor<2x4xi1>) -> tensor<2xi64>
    %23 = stablehlo.add %19, %22 : tensor<2xi64>
    %24 = call @remainder(%23, %c_1) : (tensor<2xi64>, tensor<i64>) -> tensor<2xi64>
    %25 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<2xi64>
    %26 = stablehlo.multiply %25, %24 : tensor<2xi64>
    %27 = stablehlo.broadcast_in_dim %c_4, dims = [] : (tensor<i64>) -> tensor<2xi64>
    %28 = stablehlo.add %26, %27 : tensor<2xi64>
    %29 = stablehlo.convert %28 : (tensor<2xi64>) -> tensor<2xf32>
    %30 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %31 = stablehlo.multiply %30, %29 : tensor<2xf32>
    %32 = call @_where_0(%14, %cst_3, %31) : (tensor<2xi1>, tensor<f32>, tensor<2xf32>) -> tensor<2xf32>
    %33 = stablehlo.abs %11 : tensor<2x4xf32>
    %34 = stablehlo.log %33 : tensor<2x4xf32>
    %35 = stablehlo.reduce(%34 init: %cst_3) applies stablehlo.add across dimensions = [1] : (tensor<2x4xf32>, tensor<f32>) -> tensor<2xf32>
    %36 = call @_where_0(%14, %cst, %35) : (tensor<2xi1>, tensor<f32>, tensor<2xf32>) -> tensor<2xf32>
    return %32, %36 : tensor<2xf32>, tensor<2xf32>
  }
  func.func private @closed_call(%arg0: tensor<2x4xi32>, %arg1: tensor<i64>, %arg2: tensor<2x4xi32>) -> (tensor<i64>, tensor<2x4xi32>) {
    %c = stablehlo.constant dense<4> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %c_1 = stablehlo.constant dense<4> : tensor<i64>
    %c_2 = stablehlo.constant dense<0> : tensor<i64>
    %c_3 = stablehlo.constant dense<1> : tensor<i64>
    %0 = stablehlo.add %arg1, %c_3 : tensor<i64>
    %1 = stablehlo.compare LT, %arg1, %c_2, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %2 = stablehlo.convert %arg1 : tensor<i64>
    %3 = stablehlo.add %2, %c_1 : tensor<i64>
    %4 = stablehlo.select %1, %3, %arg1 : tensor<i1>, tensor<i64>
    %5 = stablehlo.broadcast_in_dim %4, dims = [] : (tensor<i64>) -> tensor<1xi64>
    %6 = "stablehlo.gather"(%arg0, %5) <{dimension_numbers = #stablehlo.gather<offset_dims = [0, 1], start_index_map = [1]>, indices_are_sorted = true, slice_sizes = array<i64: 2, 1>}> : (tensor<2x4xi32>, tensor<1xi64>) -> tensor<2x1xi32>
    %7 = stablehlo.reshape %6 : (tensor<2x1xi32>) -> tensor<2xi32>
    %8 = stablehlo.compare LT, %arg1, %c_2, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %9 = stablehlo.convert %arg1 : tensor<i64>
    %10 = stablehlo.add %9, %c_1 : tensor<i64>
    %11 = stablehlo.select %8, %10, %arg1 : tensor<i1>, tensor<i64>
    %12 = stablehlo.broadcast_in_dim %11, dims = [] : (tensor<i64>) -> tensor<1xi64>
    %13 = "stablehlo.gather"(%arg2, %12) <{dimension_numbers = #stablehlo.gather<offset_dims = [0, 1], start_index_map = [1]>, indices_are_sorted = true, slice_sizes = array<i64: 2, 1>}> : (tensor<2x4xi32>, tensor<1xi64>) -> tensor<2x1xi32>
    %14 = stablehlo.reshape %13 : (tensor<2x1xi32>) -> tensor<2xi32>
    %15 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %16 = stablehlo.compare LT, %7, %15, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %17 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %18 = stablehlo.add %7, %17 : tensor<2xi32>
    %19 = stablehlo.select %16, %18, %7 : tensor<2xi1>, tensor<2xi32>
    %20 = stablehlo.broadcast_in_dim %19, dims = [0] : (tensor<2xi32>) -> tensor<2x1xi32>
    %21 = "stablehlo.gather"(%arg2, %20) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 1>, indices_are_sorted = true, slice_sizes = array<i64: 1, 1>}> : (tensor<2x4xi32>, tensor<2x1xi32>) -> tensor<2x1xi32>
    %22 = stablehlo.reshape %21 : (tensor<2x1xi32>) -> tensor<2xi32>
    %23 = stablehlo.compare LT, %arg1, %c_2, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %24 = stablehlo.add %arg1, %c_1 : tensor<i64>
    %25 = stablehlo.select %23, %24, %arg1 : tensor<i1>, tensor<i64>
    %26 = stablehlo.convert %25 : (tensor<i64>) -> tensor<i32>
    %27 = stablehlo.broadcast_in_dim %26, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %28 = "stablehlo.scatter"(%arg2, %27, %22) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [1], scatter_dims_to_operand_dims = [1]>, unique_indices = true}> ({
    ^bb0(%arg3: tensor<i32>, %arg4: tensor<i32>):
      stablehlo.return %arg4 : tensor<i32>
    }) : (tensor<2x4xi32>, tensor<1xi32>, tensor<2xi32>) -> tensor<2x4xi32>
    %29 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %30 = stablehlo.compare LT, %7, %29, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %31 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %32 = stablehlo.add %7, %31 : tensor<2xi32>
    %33 = stablehlo.select %30, %32, %7 : tensor<2xi1>, tensor<2xi32>
    %34 = stablehlo.broadcast_in_dim %33, dims = [0] : (tensor<2xi32>) -> tensor<2x1xi32>
    %35 = "stablehlo.scatter"(%28, %34, %14) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 1>, unique_indices = true}> ({
    ^bb0(%arg3: tensor<i32>, %arg4: tensor<i32>):
      stablehlo.return %arg4 : tensor<i32>
    }) : (tensor<2x4xi32>, tensor<2x1xi32>, tensor<2xi32>) -> tensor<2x4xi32>
    return %0, %35 : tensor<i64>, tensor<2x4xi32>
  }
  func.func private @diagonal(%arg0: tensor<2x4x4xf32>) -> tensor<2x4xf32> {
    %c = stablehlo.constant dense<4> : tensor<i64>
    %c_0 = stablehlo.constant dense<0> : tensor<i64>
    %0 = stablehlo.iota dim = 0 : tensor<4xi64>
    %1 = stablehlo.iota dim = 0 : tensor<4xi64>
    %2 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i64>) -> tensor<4xi64>
    %3 = stablehlo.compare LT, %0, %2, SIGNED : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi1>
    %4 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<4xi64>
    %5 = stablehlo.add %0, %4 : tensor<4xi64>
    %6 = stablehlo.select %3, %5, %0 : tensor<4xi1>, tensor<4xi64>
    %7 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i64>) -> tensor<4xi64>
    %8 = stablehlo.compare LT, %1, %7, SIGNED : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi1>
    %9 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<4xi64>
    %10 = stablehlo.add %1, %9 : tensor<4xi64>
    %11 = stablehlo.select %8, %10, %1 : tensor<4xi1>, tensor<4xi64>
    %12 = stablehlo.convert %6 : (tensor<4xi64>) -> tensor<4xi32>
    %13 = stablehlo.convert %11 : (tensor<4xi64>) -> tensor<4xi32>
    %14 = stablehlo.broadcast_in_dim %12, dims = [0] : (tensor<4xi32>) -> tensor<4x1xi32>
    %15 = stablehlo.broadcast_in_dim %13, dims = [0] : (tensor<4xi32>) -> tensor<4x1xi32>
    %16 = stablehlo.concatenate %14, %15, dim = 1 : (tensor<4x1xi32>, tensor<4x1xi32>) -> tensor<4x2xi32>
    %17 = "stablehlo.gather"(%arg0, %16) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [1, 2], start_index_map = [1, 2], index_vector_dim = 1>, slice_sizes = array<i64: 2, 1, 1>}> : (tensor<2x4x4xf32>, tensor<4x2xi32>) -> tensor<2x4xf32>
    return %17 : tensor<2x4xf32>
  }
  func.func private @count_nonzero(%arg0: tensor<2x4xi1>) -> tensor<2xi64> {
    %c = stablehlo.constant dense<0> : tensor<i64>
    %c_0 = stablehlo.constant dense<false> : tensor<i1>
    %0 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i1>) -> tensor<2x4xi1>
    %1 = stablehlo.compare NE, %arg0, %0, UNSIGNED : (tensor<2x4xi1>, tensor<2x4xi1>) -> tensor<2x4xi1>
    %2 = stablehlo.convert %1 : (tensor<2x4xi1>) -> tensor<2x4xi32>
    %3 = stablehlo.convert %2 : (tensor<2x4xi32>) -> tensor<2x4xi64>
    %4 = stablehlo.reduce(%3 init: %c) applies stablehlo.add across dimensions = [1] : (tensor<2x4xi64>, tensor<i64>) -> tensor<2xi64>
    return %4 : tensor<2xi64>
  }
  func.func private @remainder(%arg0: tensor<2xi64>, %arg1: tensor<i64>) -> tensor<2xi64> {
    %c = stablehlo.constant dense<1> : tensor<i64>
    %c_0 = stablehlo.constant dense<0> : tensor<i64>
    %0 = stablehlo.convert %arg1 : tensor<i64>
    %1 = stablehlo.compare EQ, %0, %c_0, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %2 = call @_where(%1, %c, %0) : (tensor<i1>, tensor<i64>, tensor<i64>) -> tensor<i64>
    %3 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<i64>) -> tensor<2xi64>
    %4 = stablehlo.remainder %arg0, %3 : tensor<2xi64>
    %5 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i64>) -> tensor<2xi64>
    %6 = stablehlo.compare NE, %4, %5, SIGNED : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi1>
    %7 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i64>) -> tensor<2xi64>
    %8 = stablehlo.compare LT, %4, %7, SIGNED : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi1>
    %9 = stablehlo.compare LT, %2, %c_0, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %10 = stablehlo.broadcast_in_dim %9, dims = [] : (tensor<i1>) -> tensor<2xi1>
    %11 = stablehlo.compare NE, %8, %10, UNSIGNED : (tensor<2xi1>, tensor<2xi1>) -> tensor<2xi1>
    %12 = stablehlo.and %11, %6 : tensor<2xi1>
    %13 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<i64>) -> tensor<2xi64>
    %14 = stablehlo.add %4, %13 : tensor<2xi64>
    %15 = stablehlo.select %12, %14, %4 : tensor<2xi1>, tensor<2xi64>
    return %15 : tensor<2xi64>
  }
  func.func private @_where(%arg0: tensor<i1>, %arg1: tensor<i64>, %arg2: tensor<i64>) -> tensor<i64> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<i1>, tensor<i64>
    return %0 : tensor<i64>
  }
  func.func private @_where_0(%arg0: tensor<2xi1>, %arg1: tensor<f32>, %arg2: tensor<2xf32>) -> tensor<2xf32> {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %1 = stablehlo.select %arg0, %0, %arg2 : tensor<2xi1>, tensor<2xf32>
    return %1 : tensor<2xf32>
  }
  func.func private @lu(%arg0: tensor<2x4x3xf32>) -> (tensor<2x4x4xf32>, tensor<2x4x3xf32>, tensor<2x3x3xf32>) {
    %0:3 = call @_lu(%arg0) : (tensor<2x4x3xf32>) -> (tensor<2x4x4xf32>, tensor<2x4x3xf32>, tensor<2x3x3xf32>)
    return %0#0, %0#1, %0#2 : tensor<2x4x4xf32>, tensor<2x4x3xf32>, tensor<2x3x3xf32>
  }
  func.func private @_lu(%arg0: tensor<2x4x3xf32>) -> (tensor<2x4x4xf32>, tensor<2x4x3xf32>, tensor<2x3x3xf32>) {
    %c = stablehlo.constant dense<1> : tensor<i64>
    %c_0 = stablehlo.constant dense<3> : tensor<i64>
    %c_1 = stablehlo.constant dense<0> : tensor<i64>
    %cst = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %c_3 = stablehlo.constant dense<1> : tensor<i32>
    %0:3 = stablehlo.custom_call @lapack_sgetrf_ffi(%arg0) {mhlo.backend_config = {}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x3xf32>) -> (tensor<2x4x3xf32>, tensor<2x3xi32>, tensor<2xi32>)
    %1 = stablehlo.broadcast_in_dim %c_3, dims = [] : (tensor<i32>) -> tensor<2x3xi32>
    %2 = stablehlo.subtract %0#1, %1 : tensor<2x3xi32>
    %3 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %4 = stablehlo.compare GE, %0#2, %3, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %6 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x4x3xf32>
    %7 = stablehlo.broadcast_in_dim %5, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x4x3xi1>
    %8 = stablehlo.select %7, %0#0, %6 : tensor<2x4x3xi1>, tensor<2x4x3xf32>
    %9 = stablehlo.iota dim = 1 : tensor<2x4xi32>
    %10:4 = stablehlo.while(%iterArg = %2, %iterArg_4 = %c_1, %iterArg_5 = %c_1, %iterArg_6 = %9) : tensor<2x3xi32>, tensor<i64>, tensor<i64>, tensor<2x4xi32>
    cond {
      %31 = stablehlo.compare LT, %iterArg_4, %c_0, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %31 : tensor<i1>
    } do {
      %31:2 = func.call @closed_call_1(%iterArg, %iterArg_5, %iterArg_6) : (tensor<2x3xi32>, tensor<i64>, tensor<2x4xi32>) -> (tensor<i64>, tensor<2x4xi32>)
      %32 = stablehlo.add %iterArg_4, %c : tensor<i64>
      stablehlo.return %iterArg, %32, %31#0, %31#1 : tensor<2x3xi32>, tensor<i64>, tensor<i64>, tensor<2x4xi32>
    }
    %11 = stablehlo.broadcast_in_dim %10#3, dims = [0, 2] : (tensor<2x4xi32>) -> tensor<2x1x4xi32>
    %12 = stablehlo.iota dim = 0 : tensor<4xi32>
    %13 = stablehlo.broadcast_in_dim %12, dims = [0] : (tensor<4xi32>) -> tensor<4x1xi32>
    %14 = stablehlo.broadcast_in_dim %13, dims = [1, 2] : (tensor<4x1xi32>) -> tensor<1x4x1xi32>
    %15 = stablehlo.broadcast_in_dim %11, dims = [0, 1, 2] : (tensor<2x1x4xi32>) -> tensor<2x4x4xi32>
    %16 = stablehlo.broadcast_in_dim %14, dims = [0, 1, 2] : (tensor<1x4x1xi32>) -> tensor<2x4x4xi32>
    %17 = stablehlo.compare EQ, %15, %16, SIGNED : (tensor<2x4x4xi32>, tensor<2x4x4xi32>) -> tensor<2x4x4xi1>
    %18 = stablehlo.convert %17 : (tensor<2x4x4xi1>) -> tensor<2x4x4xf32>
    %19 = call @tril(%8) : (tensor<2x4x3xf32>) -> tensor<2x4x3xf32>
    %20 = stablehlo.iota dim = 0 : tensor<4x3xi64>
    %21 = stablehlo.iota dim = 1 : tensor<4x3xi64>
    %22 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<i64>) -> tensor<4x3xi64>
    %23 = stablehlo.add %20, %22 : tensor<4x3xi64>
    %24 = stablehlo.compare EQ, %23, %21, SIGNED : (tensor<4x3xi64>, tensor<4x3xi64>) -> tensor<4x3xi1>
    %25 = stablehlo.convert %24 : (tensor<4x3xi1>) -> tensor<4x3xf32>
    %26 = stablehlo.broadcast_in_dim %25, dims = [1, 2] : (tensor<4x3xf32>) -> tensor<1x4x3xf32>
    %27 = stablehlo.broadcast_in_dim %26, dims = [0, 1, 2] : (tensor<1x4x3xf32>) -> tensor<2x4x3xf32>
    %28 = stablehlo.add %19, %27 : tensor<2x4x3xf32>
    %29 = call @triu(%8) : (tensor<2x4x3xf32>) -> tensor<2x4x3xf32>
    %30 = stablehlo.slice %29 [0:2, 0:3, 0:3] : (tensor<2x4x3xf32>) -> tensor<2x3x3xf32>
    return %18, %28, %30 : tensor<2x4x4xf32>, tensor<2x4x3xf32>, tensor<2x3x3xf32>
  }
  func.func private @closed_call_1(%arg0: tensor<2x3xi32>, %arg1: tensor<i64>, %arg2: tensor<2x4xi32>) -> (tensor<i64>, tensor<2x4xi32>) {
    %c = stablehlo.constant dense<4> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %c_1 = stablehlo.constant dense<4> : tensor<i64>
    %c_2 = stablehlo.constant dense<3> : tensor<i64>
    %c_3 = stablehlo.constant dense<0> : tensor<i64>
    %c_4 = stablehlo.constant dense<1> : tensor<i64>
    %0 = stablehlo.add %arg1, %c_4 : tensor<i64>
    %1 = stablehlo.compare LT, %arg1, %c_3, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %2 = stablehlo.convert %arg1 : tensor<i64>
    %3 = stablehlo.add %2, %c_2 : tensor<i64>
    %4 = stablehlo.select %1, %3, %arg1 : tensor<i1>, tensor<i64>
    %5 = stablehlo.broadcast_in_dim %4, dims = [] : (tensor<i64>) -> tensor<1xi64>
    %6 = "stablehlo.gather"(%arg0, %5) <{dimension_numbers = #stablehlo.gather<offset_dims = [0, 1], start_index_map = [1]>, indices_are_sorted = true, slice_sizes = array<i64: 2, 1>}> : (tensor<2x3xi32>, tensor<1xi64>) -> tensor<2x1xi32>
    %7 = stablehlo.reshape %6 : (tensor<2x1xi32>) -> tensor<2xi32>
    %8 = stablehlo.compare LT, %arg1, %c_3, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %9 = stablehlo.convert %arg1 : tensor<i64>
    %10 = stablehlo.add %9, %c_1 : tensor<i64>
    %11 = stablehlo.select %8, %10, %arg1 : tensor<i1>, tensor<i64>
    %12 = stablehlo.broadcast_in_dim %11, dims = [] : (tensor<i64>) -> tensor<1xi64>
    %13 = "stablehlo.gather"(%arg2, %12) <{dimension_numbers = #stablehlo.gather<offset_dims = [0, 1], start_index_map = [1]>, indices_are_sorted = true, slice_sizes = array<i64: 2, 1>}> : (tensor<2x4xi32>, tensor<1xi64>) -> tensor<2x1xi32>
    %14 = stablehlo.reshape %13 : (tensor<2x1xi32>) -> tensor<2xi32>
    %15 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %16 = stablehlo.compare LT, %7, %15, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %17 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %18 = stablehlo.add %7, %17 : tensor<2xi32>
    %19 = stablehlo.select %16, %18, %7 : tensor<2xi1>, tensor<2xi32>
    %20 = stablehlo.broadcast_in_dim %19, dims = [0] : (tensor<2xi32>) -> tensor<2x1xi32>
    %21 = "stablehlo.gather"(%arg2, %20) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 1>, indices_are_sorted = true, slice_sizes = array<i64: 1, 1>}> : (tensor<2x4xi32>, tensor<2x1xi32>) -> tensor<2x1xi32>
    %22 = stablehlo.reshape %21 : (tensor<2x1xi32>) -> tensor<2xi32>
    %23 = stablehlo.compare LT, %arg1, %c_3, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %24 = stablehlo.add %arg1, %c_1 : tensor<i64>
    %25 = stablehlo.select %23, %24, %arg1 : tensor<i1>, tensor<i64>
    %26 = stablehlo.convert %25 : (tensor<i64>) -> tensor<i32>
    %27 = stablehlo.broadcast_in_dim %26, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %28 = "stablehlo.scatter"(%arg2, %27, %22) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [1], scatter_dims_to_operand_dims = [1]>, unique_indices = true}> ({
    ^bb0(%arg3: tensor<i32>, %arg4: tensor<i32>):
      stablehlo.return %arg4 : tensor<i32>
    }) : (tensor<2x4xi32>, tensor<1xi32>, tensor<2xi32>) -> tensor<2x4xi32>
    %29 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %30 = stablehlo.compare LT, %7, %29, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %31 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %32 = stablehlo.add %7, %31 : tensor<2xi32>
    %33 = stablehlo.select %30, %32, %7 : tensor<2xi1>, tensor<2xi32>
    %34 = stablehlo.broadcast_in_dim %33, dims = [0] : (tensor<2xi32>) -> tensor<2x1xi32>
    %35 = "stablehlo.scatter"(%28, %34, %14) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 1>, unique_indices = true}> ({
    ^bb0(%arg3: tensor<i32>, %arg4: tensor<i32>):
      stablehlo.return %arg4 : tensor<i32>
    }) : (tensor<2x4xi32>, tensor<2x1xi32>, tensor<2xi32>) -> tensor<2x4xi32>
    return %0, %35 : tensor<i64>, tensor<2x4xi32>
  }
  func.func private @tril(%arg0: tensor<2x4x3xf32>) -> tensor<2x4x3xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %c = stablehlo.constant dense<-1> : tensor<i64>
    %0 = stablehlo.iota dim = 0 : tensor<4x3xi64>
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<4x3xi64>
    %2 = stablehlo.add %0, %1 : tensor<4x3xi64>
    %3 = stablehlo.iota dim = 1 : tensor<4x3xi64>
    %4 = stablehlo.compare GE, %2, %3, SIGNED : (tensor<4x3xi64>, tensor<4x3xi64>) -> tensor<4x3xi1>
    %5 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x3xf32>
    %6 = stablehlo.broadcast_in_dim %4, dims = [1, 2] : (tensor<4x3xi1>) -> tensor<2x4x3xi1>
    %7 = stablehlo.broadcast_in_dim %5, dims = [1, 2] : (tensor<4x3xf32>) -> tensor<2x4x3xf32>
    %8 = stablehlo.select %6, %arg0, %7 : tensor<2x4x3xi1>, tensor<2x4x3xf32>
    return %8 : tensor<2x4x3xf32>
  }
  func.func private @triu(%arg0: tensor<2x4x3xf32>) -> tensor<2x4x3xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %c = stablehlo.constant dense<-1> : tensor<i64>
    %0 = stablehlo.iota dim = 0 : tensor<4x3xi64>
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<4x3xi64>
    %2 = stablehlo.add %0, %1 : tensor<4x3xi64>
    %3 = stablehlo.iota dim = 1 : tensor<4x3xi64>
    %4 = stablehlo.compare GE, %2, %3, SIGNED : (tensor<4x3xi64>, tensor<4x3xi64>) -> tensor<4x3xi1>
    %5 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x3xf32>
    %6 = stablehlo.broadcast_in_dim %4, dims = [1, 2] : (tensor<4x3xi1>) -> tensor<2x4x3xi1>
    %7 = stablehlo.broadcast_in_dim %5, dims = [1, 2] : (tensor<4x3xf32>) -> tensor<2x4x3xf32>
    %8 = stablehlo.select %6, %7, %arg0 : tensor<2x4x3xi1>, tensor<2x4x3xf32>
    return %8 : tensor<2x4x3xf32>
  }
  func.func private @solve(%arg0: tensor<2x4x4xf32>, %arg1: tensor<2x4x3xf32>) -> tensor<2x4x3xf32> {
    %c = stablehlo.constant dense<1> : tensor<i64>
    %c_0 = stablehlo.constant dense<4> : tensor<i64>
    %c_1 = stablehlo.constant dense<0> : tensor<i64>
    %cst = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %c_3 = stablehlo.constant dense<1> : tensor<i32>
    %0:3 = stablehlo.custom_call @lapack_sgetrf_ffi(%arg0) {mhlo.backend_config = {}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x4xf32>) -> (tensor<2x4x4xf32>, tensor<2x4xi32>, tensor<2xi32>)
    %1 = stablehlo.broadcast_in_dim %c_3, dims = [] : (tensor<i32>) -> tensor<2x4xi32>
    %2 = stablehlo.subtract %0#1, %1 : tensor<2x4xi32>
    %3 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %4 = stablehlo.compare GE, %0#2, %3, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %6 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x4x4xf32>
    %7 = stablehlo.broadcast_in_dim %5, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x4x4xi1>
    %8 = stablehlo.select %7, %0#0, %6 : tensor<2x4x4xi1>, tensor<2x4x4xf32>
    %9 = stablehlo.iota dim = 1 : tensor<2x4xi32>
    %10:4 = stablehlo.while(%iterArg = %2, %iterArg_4 = %c_1, %iterArg_5 = %c_1, %iterArg_6 = %9) : tensor<2x4xi32>, tensor<i64>, tensor<i64>, tensor<2x4xi32>
    cond {
      %14 = stablehlo.compare LT, %iterArg_4, %c_0, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %14 : tensor<i1>
    } do {
      %14:2 = func.call @closed_call(%iterArg, %iterArg_5, %iterArg_6) : (tensor<2x4xi32>, tensor<i64>, tensor<2x4xi32>) -> (tensor<i64>, tensor<2x4xi32>)
      %15 = stablehlo.add %iterArg_4, %c : tensor<i64>
      stablehlo.return %iterArg, %15, %14#0, %14#1 : tensor<2x4xi32>, tensor<i64>, tensor<i64>, tensor<2x4xi32>
    }
    %11 = stablehlo.transpose %arg1, dims = [0, 2, 1] : (tensor<2x4x3xf32>) -> tensor<2x3x4xf32>
    %12 = call @_lu_solve(%8, %10#3, %11) : (tensor<2x4x4xf32>, tensor<2x4xi32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
    %13 = stablehlo.transpose %12, dims = [0, 2, 1] : (tensor<2x3x4xf32>) -> tensor<2x4x3xf32>
    return %13 : tensor<2x4x3xf32>
  }
  func.func private @_lu_solve(%arg0: tensor<2x4x4xf32>, %arg1: tensor<2x4xi32>, %arg2: tensor<2x3x4xf32>) -> tensor<2x3x4xf32> {
    %c = stablehlo.constant dense<4> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %arg2, dims = [0, 1, 2] : (tensor<2x3x4xf32>) -> tensor<2x3x4x1xf32>
    %1 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<2x4xi32>
    %2 = stablehlo.compare LT, %arg1, %1, SIGNED : (tensor<2x4xi32>, tensor<2x4xi32>) -> tensor<2x4xi1>
    %3 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2x4xi32>
    %4 = stablehlo.add %arg1, %3 : tensor<2x4xi32>
    %5 = stablehlo.select %2, %4, %arg1 : tensor<2x4xi1>, tensor<2x4xi32>
    %6 = stablehlo.broadcast_in_dim %5, dims = [0, 1] : (tensor<2x4xi32>) -> tensor<2x4x1xi32>
    %7 = "stablehlo.gather"(%0, %6) <{dimension_numbers = #stablehlo.gather<offset_dims = [1, 3], collapsed_slice_dims = [2], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [2], index_vector_dim = 2>, slice_sizes = array<i64: 1, 3, 1, 1>}> : (tensor<2x3x4x1xf32>, tensor<2x4x1xi32>) -> tensor<2x3x4x1xf32>
    %8 = stablehlo.transpose %7, dims = [0, 2, 3, 1] : (tensor<2x3x4x1xf32>) -> tensor<2x4x1x3xf32>
    %9 = stablehlo.reshape %8 : (tensor<2x4x1x3xf32>) -> tensor<2x4x3xf32>
    %10 = stablehlo.custom_call @lapack_strsm_ffi(%arg0, %9) {mhlo.backend_config = {diag = 85 : ui8, side = 76 : ui8, trans_x = 78 : ui8, uplo = 76 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 1, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>]} : (tensor<2x4x4xf32>, tensor<2x4x3xf32>) -> tensor<2x4x3xf32>
    %11 = stablehlo.reshape %10 : (tensor<2x4x3xf32>) -> tensor<2x4x1x3xf32>
    %12 = stablehlo.reshape %11 : (tensor<2x4x1x3xf32>) -> tensor<2x4x3xf32>
    %13 = stablehlo.custom_call @lapack_strsm_ffi(%arg0, %12) {mhlo.backend_config = {diag = 78 : ui8, side = 76 : ui8, trans_x = 78 : ui8, uplo = 85 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 1, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>]} : (tensor<2x4x4xf32>, tensor<2x4x3xf32>) -> tensor<2x4x3xf32>
    %14 = stablehlo.reshape %13 : (tensor<2x4x3xf32>) -> tensor<2x4x1x3xf32>
    %15 = stablehlo.transpose %14, dims = [0, 3, 1, 2] : (tensor<2x4x1x3xf32>) -> tensor<2x3x4x1xf32>
    %16 = stablehlo.reshape %15 : (tensor<2x3x4x1xf32>) -> tensor<2x3x4xf32>
    return %16 : tensor<2x3x4xf32>
  }
  func.func private @inv(%arg0: tensor<2x4x4xf32>) -> tensor<2x4x4xf32> {
    %c = stablehlo.constant dense<0> : tensor<i64>
    %0 = stablehlo.iota dim = 0 : tensor<4x4xi64>
    %1 = stablehlo.iota dim = 1 : tensor<4x4xi64>
    %2 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<4x4xi64>
    %3 = stablehlo.add %0, %2 : tensor<4x4xi64>
    %4 = stablehlo.compare EQ, %3, %1, SIGNED : (tensor<4x4xi64>, tensor<4x4xi64>) -> tensor<4x4xi1>
    %5 = stablehlo.convert %4 : (tensor<4x4xi1>) -> tensor<4x4xf32>
    %6 = stablehlo.broadcast_in_dim %5, dims = [1, 2] : (tensor<4x4xf32>) -> tensor<2x4x4xf32>
    %7 = call @solve_2(%arg0, %6) : (tensor<2x4x4xf32>, tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
    return %7 : tensor<2x4x4xf32>
  }
  func.func private @solve_2(%arg0: tensor<2x4x4xf32>, %arg1: tensor<2x4x4xf32>) -> tensor<2x4x4xf32> {
    %c = stablehlo.constant dense<1> : tensor<i64>
    %c_0 = stablehlo.constant dense<4> : tensor<i64>
    %c_1 = stablehlo.constant dense<0> : tensor<i64>
    %cst = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %c_3 = stablehlo.constant dense<1> : tensor<i32>
    %0:3 = stablehlo.custom_call @lapack_sgetrf_ffi(%arg0) {mhlo.backend_config = {}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x4xf32>) -> (tensor<2x4x4xf32>, tensor<2x4xi32>, tensor<2xi32>)
    %1 = stablehlo.broadcast_in_dim %c_3, dims = [] : (tensor<i32>) -> tensor<2x4xi32>
    %2 = stablehlo.subtract %0#1, %1 : tensor<2x4xi32>
    %3 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %4 = stablehlo.compare GE, %0#2, %3, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %6 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x4x4xf32>
    %7 = stablehlo.broadcast_in_dim %5, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x4x4xi1>
    %8 = stablehlo.select %7, %0#0, %6 : tensor<2x4x4xi1>, tensor<2x4x4xf32>
    %9 = stablehlo.iota dim = 1 : tensor<2x4xi32>
    %10:4 = stablehlo.while(%iterArg = %2, %iterArg_4 = %c_1, %iterArg_5 = %c_1, %iterArg_6 = %9) : tensor<2x4xi32>, tensor<i64>, tensor<i64>, tensor<2x4xi32>
    cond {
      %14 = stablehlo.compare LT, %iterArg_4, %c_0, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %14 : tensor<i1>
    } do {
      %14:2 = func.call @closed_call(%iterArg, %iterArg_5, %iterArg_6) : (tensor<2x4xi32>, tensor<i64>, tensor<2x4xi32>) -> (tensor<i64>, tensor<2x4xi32>)
      %15 = stablehlo.add %iterArg_4, %c : tensor<i64>
      stablehlo.return %iterArg, %15, %14#0, %14#1 : tensor<2x4xi32>, tensor<i64>, tensor<i64>, tensor<2x4xi32>
    }
    %11 = stablehlo.transpose %arg1, dims = [0, 2, 1] : (tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
    %12 = call @_lu_solve_3(%8, %10#3, %11) : (tensor<2x4x4xf32>, tensor<2x4xi32>, tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
    %13 = stablehlo.transpose %12, dims = [0, 2, 1] : (tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
    return %13 : tensor<2x4x4xf32>
  }
  func.func private @_lu_solve_3(%arg0: tensor<2x4x4xf32>, %arg1: tensor<2x4xi32>, %arg2: tensor<2x4x4xf32>) -> tensor<2x4x4xf32> {
    %c = stablehlo.constant dense<4> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %arg2, dims = [0, 1, 2] : (tensor<2x4x4xf32>) -> tensor<2x4x4x1xf32>
    %1 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<2x4xi32>
    %2 = stablehlo.compare LT, %arg1, %1, SIGNED : (tensor<2x4xi32>, tensor<2x4xi32>) -> tensor<2x4xi1>
    %3 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2x4xi32>
    %4 = stablehlo.add %arg1, %3 : tensor<2x4xi32>
    %5 = stablehlo.select %2, %4, %arg1 : tensor<2x4xi1>, tensor<2x4xi32>
    %6 = stablehlo.broadcast_in_dim %5, dims = [0, 1] : (tensor<2x4xi32>) -> tensor<2x4x1xi32>
    %7 = "stablehlo.gather"(%0, %6) <{dimension_numbers = #stablehlo.gather<offset_dims = [1, 3], collapsed_slice_dims = [2], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [2], index_vector_dim = 2>, slice_sizes = array<i64: 1, 4, 1, 1>}> : (tensor<2x4x4x1xf32>, tensor<2x4x1xi32>) -> tensor<2x4x4x1xf32>
    %8 = stablehlo.transpose %7, dims = [0, 2, 3, 1] : (tensor<2x4x4x1xf32>) -> tensor<2x4x1x4xf32>
    %9 = stablehlo.reshape %8 : (tensor<2x4x1x4xf32>) -> tensor<2x4x4xf32>
    %10 = stablehlo.custom_call @lapack_strsm_ffi(%arg0, %9) {mhlo.backend_config = {diag = 85 : ui8, side = 76 : ui8, trans_x = 78 : ui8, uplo = 76 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 1, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>]} : (tensor<2x4x4xf32>, tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
    %11 = stablehlo.reshape %10 : (tensor<2x4x4xf32>) -> tensor<2x4x1x4xf32>
    %12 = stablehlo.reshape %11 : (tensor<2x4x1x4xf32>) -> tensor<2x4x4xf32>
    %13 = stablehlo.custom_call @lapack_strsm_ffi(%arg0, %12) {mhlo.backend_config = {diag = 78 : ui8, side = 76 : ui8, trans_x = 78 : ui8, uplo = 85 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 1, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>]} : (tensor<2x4x4xf32>, tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
    %14 = stablehlo.reshape %13 : (tensor<2x4x4xf32>) -> tensor<2x4x1x4xf32>
    %15 = stablehlo.transpose %14, dims = [0, 3, 1, 2] : (tensor<2x4x1x4xf32>) -> tensor<2x4x4x1xf32>
    %16 = stablehlo.reshape %15 : (tensor<2x4x4x1xf32>) -> tensor<2x4x4xf32>
    return %16 : tensor<2x4x4xf32>
  }
  func.func private @det(%arg0: tensor<2x4x4xf32>) -> tensor<2xf32> {
    %0:2 = call @slogdet(%arg0) : (tensor<2x4x4xf32>) -> (tensor<2xf32>, tensor<2xf32>)
    %1 = stablehlo.exponential %0#1 : tensor<2xf32>
    %2 = stablehlo.multiply %0#0, %1 : tensor<2xf32>
    return %2 : tensor<2xf32>
  }
  func.func private @slogdet_4(%arg0: tensor<2x4x4xcomplex<f32>>) -> (tensor<2xcomplex<f32>>, tensor<2xf32>) {
    %cst = stablehlo.constant dense<(0xFF800000,0.000000e+00)> : tensor<complex<f32>>
    %c = stablehlo.constant dense<-2> : tensor<i64>
    %c_0 = stablehlo.constant dense<2> : tensor<i64>
    %cst_1 = stablehlo.constant dense<(1.000000e+00,0.000000e+00)> : tensor<complex<f32>>
    %c_2 = stablehlo.constant dense<false> : tensor<i1>
    %cst_3 = stablehlo.constant dense<(0.000000e+00,0.000000e+00)> : tensor<complex<f32>>
    %c_4 = stablehlo.constant dense<1> : tensor<i64>
    %c_5 = stablehlo.constant dense<4> : tensor<i64>
    %c_6 = stablehlo.constant dense<0> : tensor<i64>
    %cst_7 = stablehlo.constant dense<(0x7FC00000,0x7FC00000)> : tensor<complex<f32>>
    %c_8 = stablehlo.constant dense<0> : tensor<i32>
    %c_9 = stablehlo.constant dense<1> : tensor<i32>
    %0:3 = stablehlo.custom_call @lapack_cgetrf_ffi(%arg0) {mhlo.backend_config = {}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x4xcomplex<f32>>) -> (tensor<2x4x4xcomplex<f32>>, tensor<2x4xi32>, tensor<2xi32>)
    %1 = stablehlo.broadcast_in_dim %c_9, dims = [] : (tensor<i32>) -> tensor<2x4xi32>
    %2 = stablehlo.subtract %0#1, %1 : tensor<2x4xi32>
    %3 = stablehlo.broadcast_in_dim %c_8, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %4 = stablehlo.compare GE, %0#2, %3, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %6 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<complex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %7 = stablehlo.broadcast_in_dim %5, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x4x4xi1>
    %8 = stablehlo.select %7, %0#0, %6 : tensor<2x4x4xi1>, tensor<2x4x4xcomplex<f32>>
    %9 = stablehlo.iota dim = 1 : tensor<2x4xi32>
    %10:4 = stablehlo.while(%iterArg = %2, %iterArg_10 = %c_6, %iterArg_11 = %c_6, %iterArg_12 = %9) : tensor<2x4xi32>, tensor<i64>, tensor<i64>, tensor<2x4xi32>
    cond {
      %38 = stablehlo.compare LT, %iterArg_10, %c_5, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %38 : tensor<i1>
    } do {
      %38:2 = func.call @closed_call(%iterArg, %iterArg_11, %iterArg_12) : (tensor<2x4xi32>, tensor<i64>, tensor<2x4xi32>) -> (tensor<i64>, tensor<2x4xi32>)
      %39 = stablehlo.add %iterArg_10, %c_4 : tensor<i64>
      stablehlo.return %iterArg, %39, %38#0, %38#1 : tensor<2x4xi32>, tensor<i64>, tensor<i64>, tensor<2x4xi32>
    }
    %11 = call @diagonal_5(%8) : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4xcomplex<f32>>
    %12 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<complex<f32>>) -> tensor<2x4xcomplex<f32>>
    %13 = stablehlo.compare EQ, %11, %12, FLOAT : (tensor<2x4xcomplex<f32>>, tensor<2x4xcomplex<f32>>) -> tensor<2x4xi1>
    %14 = stablehlo.reduce(%13 init: %c_2) applies stablehlo.or across dimensions = [1] : (tensor<2x4xi1>, tensor<i1>) -> tensor<2xi1>
    %15 = stablehlo.iota dim = 0 : tensor<4xi32>
    %16 = stablehlo.broadcast_in_dim %15, dims = [1] : (tensor<4xi32>) -> tensor<1x4xi32>
    %17 = stablehlo.broadcast_in_dim %16, dims = [0, 1] : (tensor<1x4xi32>) -> tensor<2x4xi32>
    %18 = stablehlo.compare NE, %2, %17, SIGNED : (tensor<2x4xi32>, tensor<2x4xi32>) -> tensor<2x4xi1>
    %19 = call @count_nonzero(%18) : (tensor<2x4xi1>) -> tensor<2xi64>
    %20 = stablehlo.abs %11 : (tensor<2x4xcomplex<f32>>) -> tensor<2x4xf32>
    %21 = stablehlo.convert %20 : (tensor<2x4xf32>) -> tensor<2x4xcomplex<f32>>
    %22 = stablehlo.divide %11, %21 : tensor<2x4xcomplex<f32>>
    %23 = stablehlo.reduce(%22 init: %cst_1) applies stablehlo.multiply across dimensions = [1] : (tensor<2x4xcomplex<f32>>, tensor<complex<f32>>) -> tensor<2xcomplex<f32>>
    %24 = call @remainder(%19, %c_0) : (tensor<2xi64>, tensor<i64>) -> tensor<2xi64>
    %25 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<2xi64>
    %26 = stablehlo.multiply %25, %24 : tensor<2xi64>
    %27 = stablehlo.broadcast_in_dim %c_4, dims = [] : (tensor<i64>) -> tensor<2xi64>
    %28 = stablehlo.add %26, %27 : tensor<2xi64>
    %29 = stablehlo.convert %28 : (tensor<2xi64>) -> tensor<2xcomplex<f32>>
    %30 = stablehlo.multiply %23, %29 : tensor<2xcomplex<f32>>
    %31 = call @_where_6(%14, %cst_3, %30) : (tensor<2xi1>, tensor<complex<f32>>, tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>>
    %32 = stablehlo.abs %11 : (tensor<2x4xcomplex<f32>>) -> tensor<2x4xf32>
    %33 = stablehlo.log %32 : tensor<2x4xf32>
    %34 = stablehlo.convert %33 : (tensor<2x4xf32>) -> tensor<2x4xcomplex<f32>>
    %35 = stablehlo.reduce(%34 init: %cst_3) applies stablehlo.add across dimensions = [1] : (tensor<2x4xcomplex<f32>>, tensor<complex<f32>>) -> tensor<2xcomplex<f32>>
    %36 = call @_where_6(%14, %cst, %35) : (tensor<2xi1>, tensor<complex<f32>>, tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>>
    %37 = stablehlo.real %36 : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
    return %31, %37 : tensor<2xcomplex<f32>>, tensor<2xf32>
  }
  func.func private @diagonal_5(%arg0: tensor<2x4x4xcomplex<f32>>) -> tensor<2x4xcomplex<f32>> {
    %c = stablehlo.constant dense<4> : tensor<i64>
    %c_0 = stablehlo.constant dense<0> : tensor<i64>
    %0 = stablehlo.iota dim = 0 : tensor<4xi64>
    %1 = stablehlo.iota dim = 0 : tensor<4xi64>
    %2 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i64>) -> tensor<4xi64>
    %3 = stablehlo.compare LT, %0, %2, SIGNED : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi1>
    %4 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<4xi64>
    %5 = stablehlo.add %0, %4 : tensor<4xi64>
    %6 = stablehlo.select %3, %5, %0 : tensor<4xi1>, tensor<4xi64>
    %7 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i64>) -> tensor<4xi64>
    %8 = stablehlo.compare LT, %1, %7, SIGNED : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi1>
    %9 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<4xi64>
    %10 = stablehlo.add %1, %9 : tensor<4xi64>
    %11 = stablehlo.select %8, %10, %1 : tensor<4xi1>, tensor<4xi64>
    %12 = stablehlo.convert %6 : (tensor<4xi64>) -> tensor<4xi32>
    %13 = stablehlo.convert %11 : (tensor<4xi64>) -> tensor<4xi32>
    %14 = stablehlo.broadcast_in_dim %12, dims = [0] : (tensor<4xi32>) -> tensor<4x1xi32>
    %15 = stablehlo.broadcast_in_dim %13, dims = [0] : (tensor<4xi32>) -> tensor<4x1xi32>
    %16 = stablehlo.concatenate %14, %15, dim = 1 : (tensor<4x1xi32>, tensor<4x1xi32>) -> tensor<4x2xi32>
    %17 = "stablehlo.gather"(%arg0, %16) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [1, 2], start_index_map = [1, 2], index_vector_dim = 1>, slice_sizes = array<i64: 2, 1, 1>}> : (tensor<2x4x4xcomplex<f32>>, tensor<4x2xi32>) -> tensor<2x4xcomplex<f32>>
    return %17 : tensor<2x4xcomplex<f32>>
  }
  func.func private @_where_6(%arg0: tensor<2xi1>, %arg1: tensor<complex<f32>>, %arg2: tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>> {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<complex<f32>>) -> tensor<2xcomplex<f32>>
    %1 = stablehlo.select %arg0, %0, %arg2 : tensor<2xi1>, tensor<2xcomplex<f32>>
    return %1 : tensor<2xcomplex<f32>>
  }
  func.func private @lu_7(%arg0: tensor<2x4x3xcomplex<f32>>) -> (tensor<2x4x4xf32>, tensor<2x4x3xcomplex<f32>>, tensor<2x3x3xcomplex<f32>>) {
    %0:3 = call @_lu_8(%arg0) : (tensor<2x4x3xcomplex<f32>>) -> (tensor<2x4x4xf32>, tensor<2x4x3xcomplex<f32>>, tensor<2x3x3xcomplex<f32>>)
    return %0#0, %0#1, %0#2 : tensor<2x4x4xf32>, tensor<2x4x3xcomplex<f32>>, tensor<2x3x3xcomplex<f32>>
  }
  func.func private @_lu_8(%arg0: tensor<2x4x3xcomplex<f32>>) -> (tensor<2x4x4xf32>, tensor<2x4x3xcomplex<f32>>, tensor<2x3x3xcomplex<f32>>) {
    %c = stablehlo.constant dense<1> : tensor<i64>
    %c_0 = stablehlo.constant dense<3> : tensor<i64>
    %c_1 = stablehlo.constant dense<0> : tensor<i64>
    %cst = stablehlo.constant dense<(0x7FC00000,0x7FC00000)> : tensor<complex<f32>>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %c_3 = stablehlo.constant dense<1> : tensor<i32>
    %0:3 = stablehlo.custom_call @lapack_cgetrf_ffi(%arg0) {mhlo.backend_config = {}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x3xcomplex<f32>>) -> (tensor<2x4x3xcomplex<f32>>, tensor<2x3xi32>, tensor<2xi32>)
    %1 = stablehlo.broadcast_in_dim %c_3, dims = [] : (tensor<i32>) -> tensor<2x3xi32>
    %2 = stablehlo.subtract %0#1, %1 : tensor<2x3xi32>
    %3 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %4 = stablehlo.compare GE, %0#2, %3, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %6 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<complex<f32>>) -> tensor<2x4x3xcomplex<f32>>
    %7 = stablehlo.broadcast_in_dim %5, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x4x3xi1>
    %8 = stablehlo.select %7, %0#0, %6 : tensor<2x4x3xi1>, tensor<2x4x3xcomplex<f32>>
    %9 = stablehlo.iota dim = 1 : tensor<2x4xi32>
    %10:4 = stablehlo.while(%iterArg = %2, %iterArg_4 = %c_1, %iterArg_5 = %c_1, %iterArg_6 = %9) : tensor<2x3xi32>, tensor<i64>, tensor<i64>, tensor<2x4xi32>
    cond {
      %32 = stablehlo.compare LT, %iterArg_4, %c_0, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %32 : tensor<i1>
    } do {
      %32:2 = func.call @closed_call_1(%iterArg, %iterArg_5, %iterArg_6) : (tensor<2x3xi32>, tensor<i64>, tensor<2x4xi32>) -> (tensor<i64>, tensor<2x4xi32>)
      %33 = stablehlo.add %iterArg_4, %c : tensor<i64>
      stablehlo.return %iterArg, %33, %32#0, %32#1 : tensor<2x3xi32>, tensor<i64>, tensor<i64>, tensor<2x4xi32>
    }
    %11 = stablehlo.broadcast_in_dim %10#3, dims = [0, 2] : (tensor<2x4xi32>) -> tensor<2x1x4xi32>
    %12 = stablehlo.iota dim = 0 : tensor<4xi32>
    %13 = stablehlo.broadcast_in_dim %12, dims = [0] : (tensor<4xi32>) -> tensor<4x1xi32>
    %14 = stablehlo.broadcast_in_dim %13, dims = [1, 2] : (tensor<4x1xi32>) -> tensor<1x4x1xi32>
    %15 = stablehlo.broadcast_in_dim %11, dims = [0, 1, 2] : (tensor<2x1x4xi32>) -> tensor<2x4x4xi32>
    %16 = stablehlo.broadcast_in_dim %14, dims = [0, 1, 2] : (tensor<1x4x1xi32>) -> tensor<2x4x4xi32>
    %17 = stablehlo.compare EQ, %15, %16, SIGNED : (tensor<2x4x4xi32>, tensor<2x4x4xi32>) -> tensor<2x4x4xi1>
    %18 = stablehlo.convert %17 : (tensor<2x4x4xi1>) -> tensor<2x4x4xcomplex<f32>>
    %19 = stablehlo.real %18 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %20 = call @tril_9(%8) : (tensor<2x4x3xcomplex<f32>>) -> tensor<2x4x3xcomplex<f32>>
    %21 = stablehlo.iota dim = 0 : tensor<4x3xi64>
    %22 = stablehlo.iota dim = 1 : tensor<4x3xi64>
    %23 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<i64>) -> tensor<4x3xi64>
    %24 = stablehlo.add %21, %23 : tensor<4x3xi64>
    %25 = stablehlo.compare EQ, %24, %22, SIGNED : (tensor<4x3xi64>, tensor<4x3xi64>) -> tensor<4x3xi1>
    %26 = stablehlo.convert %25 : (tensor<4x3xi1>) -> tensor<4x3xcomplex<f32>>
    %27 = stablehlo.broadcast_in_dim %26, dims = [1, 2] : (tensor<4x3xcomplex<f32>>) -> tensor<1x4x3xcomplex<f32>>
    %28 = stablehlo.broadcast_in_dim %27, dims = [0, 1, 2] : (tensor<1x4x3xcomplex<f32>>) -> tensor<2x4x3xcomplex<f32>>
    %29 = stablehlo.add %20, %28 : tensor<2x4x3xcomplex<f32>>
    %30 = call @triu_10(%8) : (tensor<2x4x3xcomplex<f32>>) -> tensor<2x4x3xcomplex<f32>>
    %31 = stablehlo.slice %30 [0:2, 0:3, 0:3] : (tensor<2x4x3xcomplex<f32>>) -> tensor<2x3x3xcomplex<f32>>
    return %19, %29, %31 : tensor<2x4x4xf32>, tensor<2x4x3xcomplex<f32>>, tensor<2x3x3xcomplex<f32>>
  }
  func.func private @tril_9(%arg0: tensor<2x4x3xcomplex<f32>>) -> tensor<2x4x3xcomplex<f32>> {
    %cst = stablehlo.constant dense<(0.000000e+00,0.000000e+00)> : tensor<complex<f32>>
    %c = stablehlo.constant dense<-1> : tensor<i64>
    %0 = stablehlo.iota dim = 0 : tensor<4x3xi64>
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<4x3xi64>
    %2 = stablehlo.add %0, %1 : tensor<4x3xi64>
    %3 = stablehlo.iota dim = 1 : tensor<4x3xi64>
    %4 = stablehlo.compare GE, %2, %3, SIGNED : (tensor<4x3xi64>, tensor<4x3xi64>) -> tensor<4x3xi1>
    %5 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<complex<f32>>) -> tensor<4x3xcomplex<f32>>
    %6 = stablehlo.broadcast_in_dim %4, dims = [1, 2] : (tensor<4x3xi1>) -> tensor<2x4x3xi1>
    %7 = stablehlo.broadcast_in_dim %5, dims = [1, 2] : (tensor<4x3xcomplex<f32>>) -> tensor<2x4x3xcomplex<f32>>
    %8 = stablehlo.select %6, %arg0, %7 : tensor<2x4x3xi1>, tensor<2x4x3xcomplex<f32>>
    return %8 : tensor<2x4x3xcomplex<f32>>
  }
  func.func private @triu_10(%arg0: tensor<2x4x3xcomplex<f32>>) -> tensor<2x4x3xcomplex<f32>> {
    %cst = stablehlo.constant dense<(0.000000e+00,0.000000e+00)> : tensor<complex<f32>>
    %c = stablehlo.constant dense<-1> : tensor<i64>
    %0 = stablehlo.iota dim = 0 : tensor<4x3xi64>
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<4x3xi64>
    %2 = stablehlo.add %0, %1 : tensor<4x3xi64>
    %3 = stablehlo.iota dim = 1 : tensor<4x3xi64>
    %4 = stablehlo.compare GE, %2, %3, SIGNED : (tensor<4x3xi64>, tensor<4x3xi64>) -> tensor<4x3xi1>
    %5 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<complex<f32>>) -> tensor<4x3xcomplex<f32>>
    %6 = stablehlo.broadcast_in_dim %4, dims = [1, 2] : (tensor<4x3xi1>) -> tensor<2x4x3xi1>
    %7 = stablehlo.broadcast_in_dim %5, dims = [1, 2] : (tensor<4x3xcomplex<f32>>) -> tensor<2x4x3xcomplex<f32>>
    %8 = stablehlo.select %6, %7, %arg0 : tensor<2x4x3xi1>, tensor<2x4x3xcomplex<f32>>
    return %8 : tensor<2x4x3xcomplex<f32>>
  }
  func.func private @solve_11(%arg0: tensor<2x4x4xcomplex<f32>>, %arg1: tensor<2x4x3xcomplex<f32>>) -> tensor<2x4x3xcomplex<f32>> {
    %c = stablehlo.constant dense<1> : tensor<i64>
    %c_0 = stablehlo.constant dense<4> : tensor<i64>
    %c_1 = stablehlo.constant dense<0> : tensor<i64>
    %cst = stablehlo.constant dense<(0x7FC00000,0x7FC00000)> : tensor<complex<f32>>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %c_3 = stablehlo.constant dense<1> : tensor<i32>
    %0:3 = stablehlo.custom_call @lapack_cgetrf_ffi(%arg0) {mhlo.backend_config = {}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x4xcomplex<f32>>) -> (tensor<2x4x4xcomplex<f32>>, tensor<2x4xi32>, tensor<2xi32>)
    %1 = stablehlo.broadcast_in_dim %c_3, dims = [] : (tensor<i32>) -> tensor<2x4xi32>
    %2 = stablehlo.subtract %0#1, %1 : tensor<2x4xi32>
    %3 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %4 = stablehlo.compare GE, %0#2, %3, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %6 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<complex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %7 = stablehlo.broadcast_in_dim %5, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x4x4xi1>
    %8 = stablehlo.select %7, %0#0, %6 : tensor<2x4x4xi1>, tensor<2x4x4xcomplex<f32>>
    %9 = stablehlo.iota dim = 1 : tensor<2x4xi32>
    %10:4 = stablehlo.while(%iterArg = %2, %iterArg_4 = %c_1, %iterArg_5 = %c_1, %iterArg_6 = %9) : tensor<2x4xi32>, tensor<i64>, tensor<i64>, tensor<2x4xi32>
    cond {
      %14 = stablehlo.compare LT, %iterArg_4, %c_0, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %14 : tensor<i1>
    } do {
      %14:2 = func.call @closed_call(%iterArg, %iterArg_5, %iterArg_6) : (tensor<2x4xi32>, tensor<i64>, tensor<2x4xi32>) -> (tensor<i64>, tensor<2x4xi32>)
      %15 = stablehlo.add %iterArg_4, %c : tensor<i64>
      stablehlo.return %iterArg, %15, %14#0, %14#1 : tensor<2x4xi32>, tensor<i64>, tensor<i64>, tensor<2x4xi32>
    }
    %11 = stablehlo.transpose %arg1, dims = [0, 2, 1] : (tensor<2x4x3xcomplex<f32>>) -> tensor<2x3x4xcomplex<f32>>
    %12 = call @_lu_solve_12(%8, %10#3, %11) : (tensor<2x4x4xcomplex<f32>>, tensor<2x4xi32>, tensor<2x3x4xcomplex<f32>>) -> tensor<2x3x4xcomplex<f32>>
    %13 = stablehlo.transpose %12, dims = [0, 2, 1] : (tensor<2x3x4xcomplex<f32>>) -> tensor<2x4x3xcomplex<f32>>
    return %13 : tensor<2x4x3xcomplex<f32>>
  }
  func.func private @_lu_solve_12(%arg0: tensor<2x4x4xcomplex<f32>>, %arg1: tensor<2x4xi32>, %arg2: tensor<2x3x4xcomplex<f32>>) -> tensor<2x3x4xcomplex<f32>> {
    %c = stablehlo.constant dense<4> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %arg2, dims = [0, 1, 2] : (tensor<2x3x4xcomplex<f32>>) -> tensor<2x3x4x1xcomplex<f32>>
    %1 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<2x4xi32>
    %2 = stablehlo.compare LT, %arg1, %1, SIGNED : (tensor<2x4xi32>, tensor<2x4xi32>) -> tensor<2x4xi1>
    %3 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2x4xi32>
    %4 = stablehlo.add %arg1, %3 : tensor<2x4xi32>
    %5 = stablehlo.select %2, %4, %arg1 : tensor<2x4xi1>, tensor<2x4xi32>
    %6 = stablehlo.broadcast_in_dim %5, dims = [0, 1] : (tensor<2x4xi32>) -> tensor<2x4x1xi32>
    %7 = "stablehlo.gather"(%0, %6) <{dimension_numbers = #stablehlo.gather<offset_dims = [1, 3], collapsed_slice_dims = [2], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [2], index_vector_dim = 2>, slice_sizes = array<i64: 1, 3, 1, 1>}> : (tensor<2x3x4x1xcomplex<f32>>, tensor<2x4x1xi32>) -> tensor<2x3x4x1xcomplex<f32>>
    %8 = stablehlo.transpose %7, dims = [0, 2, 3, 1] : (tensor<2x3x4x1xcomplex<f32>>) -> tensor<2x4x1x3xcomplex<f32>>
    %9 = stablehlo.reshape %8 : (tensor<2x4x1x3xcomplex<f32>>) -> tensor<2x4x3xcomplex<f32>>
    %10 = stablehlo.custom_call @lapack_ctrsm_ffi(%arg0, %9) {mhlo.backend_config = {diag = 85 : ui8, side = 76 : ui8, trans_x = 78 : ui8, uplo = 76 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 1, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>]} : (tensor<2x4x4xcomplex<f32>>, tensor<2x4x3xcomplex<f32>>) -> tensor<2x4x3xcomplex<f32>>
    %11 = stablehlo.reshape %10 : (tensor<2x4x3xcomplex<f32>>) -> tensor<2x4x1x3xcomplex<f32>>
    %12 = stablehlo.reshape %11 : (tensor<2x4x1x3xcomplex<f32>>) -> tensor<2x4x3xcomplex<f32>>
    %13 = stablehlo.custom_call @lapack_ctrsm_ffi(%arg0, %12) {mhlo.backend_config = {diag = 78 : ui8, side = 76 : ui8, trans_x = 78 : ui8, uplo = 85 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 1, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>]} : (tensor<2x4x4xcomplex<f32>>, tensor<2x4x3xcomplex<f32>>) -> tensor<2x4x3xcomplex<f32>>
    %14 = stablehlo.reshape %13 : (tensor<2x4x3xcomplex<f32>>) -> tensor<2x4x1x3xcomplex<f32>>
    %15 = stablehlo.transpose %14, dims = [0, 3, 1, 2] : (tensor<2x4x1x3xcomplex<f32>>) -> tensor<2x3x4x1xcomplex<f32>>
    %16 = stablehlo.reshape %15 : (tensor<2x3x4x1xcomplex<f32>>) -> tensor<2x3x4xcomplex<f32>>
    return %16 : tensor<2x3x4xcomplex<f32>>
  }
  func.func private @inv_13(%arg0: tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>> {
    %c = stablehlo.constant dense<0> : tensor<i64>
    %0 = stablehlo.iota dim = 0 : tensor<4x4xi64>
    %1 = stablehlo.iota dim = 1 : tensor<4x4xi64>
    %2 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<4x4xi64>
    %3 = stablehlo.add %0, %2 : tensor<4x4xi64>
    %4 = stablehlo.compare EQ, %3, %1, SIGNED : (tensor<4x4xi64>, tensor<4x4xi64>) -> tensor<4x4xi1>
    %5 = stablehlo.convert %4 : (tensor<4x4xi1>) -> tensor<4x4xcomplex<f32>>
    %6 = stablehlo.broadcast_in_dim %5, dims = [1, 2] : (tensor<4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %7 = call @solve_14(%arg0, %6) : (tensor<2x4x4xcomplex<f32>>, tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    return %7 : tensor<2x4x4xcomplex<f32>>
  }
  func.func private @solve_14(%arg0: tensor<2x4x4xcomplex<f32>>, %arg1: tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>> {
    %c = stablehlo.constant dense<1> : tensor<i64>
    %c_0 = stablehlo.constant dense<4> : tensor<i64>
    %c_1 = stablehlo.constant dense<0> : tensor<i64>
    %cst = stablehlo.constant dense<(0x7FC00000,0x7FC00000)> : tensor<complex<f32>>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %c_3 = stablehlo.constant dense<1> : tensor<i32>
    %0:3 = stablehlo.custom_call @lapack_cgetrf_ffi(%arg0) {mhlo.backend_config = {}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x4xcomplex<f32>>) -> (tensor<2x4x4xcomplex<f32>>, tensor<2x4xi32>, tensor<2xi32>)
    %1 = stablehlo.broadcast_in_dim %c_3, dims = [] : (tensor<i32>) -> tensor<2x4xi32>
    %2 = stablehlo.subtract %0#1, %1 : tensor<2x4xi32>
    %3 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %4 = stablehlo.compare GE, %0#2, %3, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %6 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<complex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %7 = stablehlo.broadcast_in_dim %5, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x4x4xi1>
    %8 = stablehlo.select %7, %0#0, %6 : tensor<2x4x4xi1>, tensor<2x4x4xcomplex<f32>>
    %9 = stablehlo.iota dim = 1 : tensor<2x4xi32>
    %10:4 = stablehlo.while(%iterArg = %2, %iterArg_4 = %c_1, %iterArg_5 = %c_1, %iterArg_6 = %9) : tensor<2x4xi32>, tensor<i64>, tensor<i64>, tensor<2x4xi32>
    cond {
      %14 = stablehlo.compare LT, %iterArg_4, %c_0, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %14 : tensor<i1>
    } do {
      %14:2 = func.call @closed_call(%iterArg, %iterArg_5, %iterArg_6) : (tensor<2x4xi32>, tensor<i64>, tensor<2x4xi32>) -> (tensor<i64>, tensor<2x4xi32>)
      %15 = stablehlo.add %iterArg_4, %c : tensor<i64>
      stablehlo.return %iterArg, %15, %14#0, %14#1 : tensor<2x4xi32>, tensor<i64>, tensor<i64>, tensor<2x4xi32>
    }
    %11 = stablehlo.transpose %arg1, dims = [0, 2, 1] : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %12 = call @_lu_solve_15(%8, %10#3, %11) : (tensor<2x4x4xcomplex<f32>>, tensor<2x4xi32>, tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %13 = stablehlo.transpose %12, dims = [0, 2, 1] : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    return %13 : tensor<2x4x4xcomplex<f32>>
  }
  func.func private @_lu_solve_15(%arg0: tensor<2x4x4xcomplex<f32>>, %arg1: tensor<2x4xi32>, %arg2: tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>> {
    %c = stablehlo.constant dense<4> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %arg2, dims = [0, 1, 2] : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4x1xcomplex<f32>>
    %1 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<2x4xi32>
    %2 = stablehlo.compare LT, %arg1, %1, SIGNED : (tensor<2x4xi32>, tensor<2x4xi32>) -> tensor<2x4xi1>
    %3 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2x4xi32>
    %4 = stablehlo.add %arg1, %3 : tensor<2x4xi32>
    %5 = stablehlo.select %2, %4, %arg1 : tensor<2x4xi1>, tensor<2x4xi32>
    %6 = stablehlo.broadcast_in_dim %5, dims = [0, 1] : (tensor<2x4xi32>) -> tensor<2x4x1xi32>
    %7 = "stablehlo.gather"(%0, %6) <{dimension_numbers = #stablehlo.gather<offset_dims = [1, 3], collapsed_slice_dims = [2], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [2], index_vector_dim = 2>, slice_sizes = array<i64: 1, 4, 1, 1>}> : (tensor<2x4x4x1xcomplex<f32>>, tensor<2x4x1xi32>) -> tensor<2x4x4x1xcomplex<f32>>
    %8 = stablehlo.transpose %7, dims = [0, 2, 3, 1] : (tensor<2x4x4x1xcomplex<f32>>) -> tensor<2x4x1x4xcomplex<f32>>
    %9 = stablehlo.reshape %8 : (tensor<2x4x1x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %10 = stablehlo.custom_call @lapack_ctrsm_ffi(%arg0, %9) {mhlo.backend_config = {diag = 85 : ui8, side = 76 : ui8, trans_x = 78 : ui8, uplo = 76 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 1, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>]} : (tensor<2x4x4xcomplex<f32>>, tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %11 = stablehlo.reshape %10 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x1x4xcomplex<f32>>
    %12 = stablehlo.reshape %11 : (tensor<2x4x1x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %13 = stablehlo.custom_call @lapack_ctrsm_ffi(%arg0, %12) {mhlo.backend_config = {diag = 78 : ui8, side = 76 : ui8, trans_x = 78 : ui8, uplo = 85 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 1, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>]} : (tensor<2x4x4xcomplex<f32>>, tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %14 = stablehlo.reshape %13 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x1x4xcomplex<f32>>
    %15 = stablehlo.transpose %14, dims = [0, 3, 1, 2] : (tensor<2x4x1x4xcomplex<f32>>) -> tensor<2x4x4x1xcomplex<f32>>
    %16 = stablehlo.reshape %15 : (tensor<2x4x4x1xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    return %16 : tensor<2x4x4xcomplex<f32>>
  }
  func.func private @det_16(%arg0: tensor<2x4x4xcomplex<f32>>) -> tensor<2xcomplex<f32>> {
    %0:2 = call @slogdet_4(%arg0) : (tensor<2x4x4xcomplex<f32>>) -> (tensor<2xcomplex<f32>>, tensor<2xf32>)
    %1 = stablehlo.exponential %0#1 : tensor<2xf32>
    %2 = stablehlo.convert %1 : (tensor<2xf32>) -> tensor<2xcomplex<f32>>
    %3 = stablehlo.multiply %0#0, %2 : tensor<2xcomplex<f32>>
    return %3 : tensor<2xcomplex<f32>>
  }
  func.func private @slogdet_17(%arg0: tensor<2x4x4xcomplex<f32>>) -> (tensor<2xcomplex<f32>>, tensor<2xf32>, tensor<2x4x4xcomplex<f32>>, tensor<2x4xi32>, tensor<2x4x4xi1>, tensor<2x4x4xcomplex<f32>>) {
    %0:2 = call @slogdet_18(%arg0) : (tensor<2x4x4xcomplex<f32>>) -> (tensor<2xcomplex<f32>>, tensor<2xf32>)
    %1:2 = call @solve_24(%arg0) : (tensor<2x4x4xcomplex<f32>>) -> (tensor<2x4x4xcomplex<f32>>, tensor<2x4xi32>)
    %2:2 = call @trace() : () -> (tensor<2x4x4xi1>, tensor<2x4x4xcomplex<f32>>)
    return %0#0, %0#1, %1#0, %1#1, %2#0, %2#1 : tensor<2xcomplex<f32>>, tensor<2xf32>, tensor<2x4x4xcomplex<f32>>, tensor<2x4xi32>, tensor<2x4x4xi1>, tensor<2x4x4xcomplex<f32>>
  }
  func.func private @slogdet_18(%arg0: tensor<2x4x4xcomplex<f32>>) -> (tensor<2xcomplex<f32>>, tensor<2xf32>) {
    %cst = stablehlo.constant dense<(0xFF800000,0.000000e+00)> : tensor<complex<f32>>
    %c = stablehlo.constant dense<-2> : tensor<i64>
    %c_0 = stablehlo.constant dense<2> : tensor<i64>
    %cst_1 = stablehlo.constant dense<(1.000000e+00,0.000000e+00)> : tensor<complex<f32>>
    %c_2 = stablehlo.constant dense<false> : tensor<i1>
    %cst_3 = stablehlo.constant dense<(0.000000e+00,0.000000e+00)> : tensor<complex<f32>>
    %c_4 = stablehlo.constant dense<1> : tensor<i64>
    %c_5 = stablehlo.constant dense<4> : tensor<i64>
    %c_6 = stablehlo.constant dense<0> : tensor<i64>
    %cst_7 = stablehlo.constant dense<(0x7FC00000,0x7FC00000)> : tensor<complex<f32>>
    %c_8 = stablehlo.constant dense<0> : tensor<i32>
    %c_9 = stablehlo.constant dense<1> : tensor<i32>
    %0:3 = stablehlo.custom_call @lapack_cgetrf_ffi(%arg0) {mhlo.backend_config = {}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x4xcomplex<f32>>) -> (tensor<2x4x4xcomplex<f32>>, tensor<2x4xi32>, tensor<2xi32>)
    %1 = stablehlo.broadcast_in_dim %c_9, dims = [] : (tensor<i32>) -> tensor<2x4xi32>
    %2 = stablehlo.subtract %0#1, %1 : tensor<2x4xi32>
    %3 = stablehlo.broadcast_in_dim %c_8, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %4 = stablehlo.compare GE, %0#2, %3, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %6 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<complex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %7 = stablehlo.broadcast_in_dim %5, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x4x4xi1>
    %8 = stablehlo.select %7, %0#0, %6 : tensor<2x4x4xi1>, tensor<2x4x4xcomplex<f32>>
    %9 = stablehlo.iota dim = 1 : tensor<2x4xi32>
    %10:4 = stablehlo.while(%iterArg = %2, %iterArg_10 = %c_6, %iterArg_11 = %c_6, %iterArg_12 = %9) : tensor<2x4xi32>, tensor<i64>, tensor<i64>, tensor<2x4xi32>
    cond {
      %38 = stablehlo.compare LT, %iterArg_10, %c_5, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %38 : tensor<i1>
    } do {
      %38:2 = func.call @closed_call(%iterArg, %iterArg_11, %iterArg_12) : (tensor<2x4xi32>, tensor<i64>, tensor<2x4xi32>) -> (tensor<i64>, tensor<2x4xi32>)
      %39 = stablehlo.add %iterArg_10, %c_4 : tensor<i64>
      stablehlo.return %iterArg, %39, %38#0, %38#1 : tensor<2x4xi32>, tensor<i64>, tensor<i64>, tensor<2x4xi32>
    }
    %11 = call @diagonal_19(%8) : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4xcomplex<f32>>
    %12 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<complex<f32>>) -> tensor<2x4xcomplex<f32>>
    %13 = stablehlo.compare EQ, %11, %12, FLOAT : (tensor<2x4xcomplex<f32>>, tensor<2x4xcomplex<f32>>) -> tensor<2x4xi1>
    %14 = stablehlo.reduce(%13 init: %c_2) applies stablehlo.or across dimensions = [1] : (tensor<2x4xi1>, tensor<i1>) -> tensor<2xi1>
    %15 = stablehlo.iota dim = 0 : tensor<4xi32>
    %16 = stablehlo.broadcast_in_dim %15, dims = [1] : (tensor<4xi32>) -> tensor<1x4xi32>
    %17 = stablehlo.broadcast_in_dim %16, dims = [0, 1] : (tensor<1x4xi32>) -> tensor<2x4xi32>
    %18 = stablehlo.compare NE, %2, %17, SIGNED : (tensor<2x4xi32>, tensor<2x4xi32>) -> tensor<2x4xi1>
    %19 = call @count_nonzero_20(%18) : (tensor<2x4xi1>) -> tensor<2xi64>
    %20 = stablehlo.abs %11 : (tensor<2x4xcomplex<f32>>) -> tensor<2x4xf32>
    %21 = stablehlo.convert %20 : (tensor<2x4xf32>) -> tensor<2x4xcomplex<f32>>
    %22 = stablehlo.divide %11, %21 : tensor<2x4xcomplex<f32>>
    %23 = stablehlo.reduce(%22 init: %cst_1) applies stablehlo.multiply across dimensions = [1] : (tensor<2x4xcomplex<f32>>, tensor<complex<f32>>) -> tensor<2xcomplex<f32>>
    %24 = call @remainder_21(%19, %c_0) : (tensor<2xi64>, tensor<i64>) -> tensor<2xi64>
    %25 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<2xi64>
    %26 = stablehlo.multiply %25, %24 : tensor<2xi64>
    %27 = stablehlo.broadcast_in_dim %c_4, dims = [] : (tensor<i64>) -> tensor<2xi64>
    %28 = stablehlo.add %26, %27 : tensor<2xi64>
    %29 = stablehlo.convert %28 : (tensor<2xi64>) -> tensor<2xcomplex<f32>>
    %30 = stablehlo.multiply %23, %29 : tensor<2xcomplex<f32>>
    %31 = call @_where_23(%14, %cst_3, %30) : (tensor<2xi1>, tensor<complex<f32>>, tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>>
    %32 = stablehlo.abs %11 : (tensor<2x4xcomplex<f32>>) -> tensor<2x4xf32>
    %33 = stablehlo.log %32 : tensor<2x4xf32>
    %34 = stablehlo.convert %33 : (tensor<2x4xf32>) -> tensor<2x4xcomplex<f32>>
    %35 = stablehlo.reduce(%34 init: %cst_3) applies stablehlo.add across dimensions = [1] : (tensor<2x4xcomplex<f32>>, tensor<complex<f32>>) -> tensor<2xcomplex<f32>>
    %36 = call @_where_23(%14, %cst, %35) : (tensor<2xi1>, tensor<complex<f32>>, tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>>
    %37 = stablehlo.real %36 : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
    return %31, %37 : tensor<2xcomplex<f32>>, tensor<2xf32>
  }
  func.func private @diagonal_19(%arg0: tensor<2x4x4xcomplex<f32>>) -> tensor<2x4xcomplex<f32>> {
    %c = stablehlo.constant dense<4> : tensor<i64>
    %c_0 = stablehlo.constant dense<0> : tensor<i64>
    %0 = stablehlo.iota dim = 0 : tensor<4xi64>
    %1 = stablehlo.iota dim = 0 : tensor<4xi64>
    %2 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i64>) -> tensor<4xi64>
    %3 = stablehlo.compare LT, %0, %2, SIGNED : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi1>
    %4 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<4xi64>
    %5 = stablehlo.add %0, %4 : tensor<4xi64>
    %6 = stablehlo.select %3, %5, %0 : tensor<4xi1>, tensor<4xi64>
    %7 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i64>) -> tensor<4xi64>
    %8 = stablehlo.compare LT, %1, %7, SIGNED : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi1>
    %9 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<4xi64>
    %10 = stablehlo.add %1, %9 : tensor<4xi64>
    %11 = stablehlo.select %8, %10, %1 : tensor<4xi1>, tensor<4xi64>
    %12 = stablehlo.convert %6 : (tensor<4xi64>) -> tensor<4xi32>
    %13 = stablehlo.convert %11 : (tensor<4xi64>) -> tensor<4xi32>
    %14 = stablehlo.broadcast_in_dim %12, dims = [0] : (tensor<4xi32>) -> tensor<4x1xi32>
    %15 = stablehlo.broadcast_in_dim %13, dims = [0] : (tensor<4xi32>) -> tensor<4x1xi32>
    %16 = stablehlo.concatenate %14, %15, dim = 1 : (tensor<4x1xi32>, tensor<4x1xi32>) -> tensor<4x2xi32>
    %17 = "stablehlo.gather"(%arg0, %16) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [1, 2], start_index_map = [1, 2], index_vector_dim = 1>, slice_sizes = array<i64: 2, 1, 1>}> : (tensor<2x4x4xcomplex<f32>>, tensor<4x2xi32>) -> tensor<2x4xcomplex<f32>>
    return %17 : tensor<2x4xcomplex<f32>>
  }
  func.func private @count_nonzero_20(%arg0: tensor<2x4xi1>) -> tensor<2xi64> {
    %c = stablehlo.constant dense<0> : tensor<i64>
    %c_0 = stablehlo.constant dense<false> : tensor<i1>
    %0 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i1>) -> tensor<2x4xi1>
    %1 = stablehlo.compare NE, %arg0, %0, UNSIGNED : (tensor<2x4xi1>, tensor<2x4xi1>) -> tensor<2x4xi1>
    %2 = stablehlo.convert %1 : (tensor<2x4xi1>) -> tensor<2x4xi32>
    %3 = stablehlo.convert %2 : (tensor<2x4xi32>) -> tensor<2x4xi64>
    %4 = stablehlo.reduce(%3 init: %c) applies stablehlo.add across dimensions = [1] : (tensor<2x4xi64>, tensor<i64>) -> tensor<2xi64>
    return %4 : tensor<2xi64>
  }
  func.func private @remainder_21(%arg0: tensor<2xi64>, %arg1: tensor<i64>) -> tensor<2xi64> {
    %c = stablehlo.constant dense<1> : tensor<i64>
    %c_0 = stablehlo.constant dense<0> : tensor<i64>
    %0 = stablehlo.convert %arg1 : tensor<i64>
    %1 = stablehlo.compare EQ, %0, %c_0, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %2 = call @_where_22(%1, %c, %0) : (tensor<i1>, tensor<i64>, tensor<i64>) -> tensor<i64>
    %3 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<i64>) -> tensor<2xi64>
    %4 = stablehlo.remainder %arg0, %3 : tensor<2xi64>
    %5 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i64>) -> tensor<2xi64>
    %6 = stablehlo.compare NE, %4, %5, SIGNED : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi1>
    %7 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i64>) -> tensor<2xi64>
    %8 = stablehlo.compare LT, %4, %7, SIGNED : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi1>
    %9 = stablehlo.compare LT, %2, %c_0, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %10 = stablehlo.broadcast_in_dim %9, dims = [] : (tensor<i1>) -> tensor<2xi1>
    %11 = stablehlo.compare NE, %8, %10, UNSIGNED : (tensor<2xi1>, tensor<2xi1>) -> tensor<2xi1>
    %12 = stablehlo.and %11, %6 : tensor<2xi1>
    %13 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<i64>) -> tensor<2xi64>
    %14 = stablehlo.add %4, %13 : tensor<2xi64>
    %15 = stablehlo.select %12, %14, %4 : tensor<2xi1>, tensor<2xi64>
    return %15 : tensor<2xi64>
  }
  func.func private @_where_22(%arg0: tensor<i1>, %arg1: tensor<i64>, %arg2: tensor<i64>) -> tensor<i64> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<i1>, tensor<i64>
    return %0 : tensor<i64>
  }
  func.func private @_where_23(%arg0: tensor<2xi1>, %arg1: tensor<complex<f32>>, %arg2: tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>> {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<complex<f32>>) -> tensor<2xcomplex<f32>>
    %1 = stablehlo.select %arg0, %0, %arg2 : tensor<2xi1>, tensor<2xcomplex<f32>>
    return %1 : tensor<2xcomplex<f32>>
  }
  func.func private @solve_24(%arg0: tensor<2x4x4xcomplex<f32>>) -> (tensor<2x4x4xcomplex<f32>>, tensor<2x4xi32>) {
    %c = stablehlo.constant dense<1> : tensor<i64>
    %c_0 = stablehlo.constant dense<4> : tensor<i64>
    %c_1 = stablehlo.constant dense<0> : tensor<i64>
    %cst = stablehlo.constant dense<(0x7FC00000,0x7FC00000)> : tensor<complex<f32>>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %c_3 = stablehlo.constant dense<1> : tensor<i32>
    %0:3 = stablehlo.custom_call @lapack_cgetrf_ffi(%arg0) {mhlo.backend_config = {}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x4xcomplex<f32>>) -> (tensor<2x4x4xcomplex<f32>>, tensor<2x4xi32>, tensor<2xi32>)
    %1 = stablehlo.broadcast_in_dim %c_3, dims = [] : (tensor<i32>) -> tensor<2x4xi32>
    %2 = stablehlo.subtract %0#1, %1 : tensor<2x4xi32>
    %3 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %4 = stablehlo.compare GE, %0#2, %3, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %6 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<complex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %7 = stablehlo.broadcast_in_dim %5, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x4x4xi1>
    %8 = stablehlo.select %7, %0#0, %6 : tensor<2x4x4xi1>, tensor<2x4x4xcomplex<f32>>
    %9 = stablehlo.iota dim = 1 : tensor<2x4xi32>
    %10:4 = stablehlo.while(%iterArg = %2, %iterArg_4 = %c_1, %iterArg_5 = %c_1, %iterArg_6 = %9) : tensor<2x4xi32>, tensor<i64>, tensor<i64>, tensor<2x4xi32>
    cond {
      %11 = stablehlo.compare LT, %iterArg_4, %c_0, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %11 : tensor<i1>
    } do {
      %11:2 = func.call @closed_call(%iterArg, %iterArg_5, %iterArg_6) : (tensor<2x4xi32>, tensor<i64>, tensor<2x4xi32>) -> (tensor<i64>, tensor<2x4xi32>)
      %12 = stablehlo.add %iterArg_4, %c : tensor<i64>
      stablehlo.return %iterArg, %12, %11#0, %11#1 : tensor<2x4xi32>, tensor<i64>, tensor<i64>, tensor<2x4xi32>
    }
    return %8, %10#3 : tensor<2x4x4xcomplex<f32>>, tensor<2x4xi32>
  }
  func.func private @trace() -> (tensor<2x4x4xi1>, tensor<2x4x4xcomplex<f32>>) {
    %cst = stablehlo.constant dense<(0.000000e+00,0.000000e+00)> : tensor<complex<f32>>
    %c = stablehlo.constant dense<0> : tensor<i64>
    %0 = stablehlo.iota dim = 0 : tensor<4x4xi64>
    %1 = stablehlo.iota dim = 1 : tensor<4x4xi64>
    %2 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<4x4xi64>
    %3 = stablehlo.add %0, %2 : tensor<4x4xi64>
    %4 = stablehlo.compare EQ, %3, %1, SIGNED : (tensor<4x4xi64>, tensor<4x4xi64>) -> tensor<4x4xi1>
    %5 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<complex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %6 = call @_where_25(%4) : (tensor<4x4xi1>) -> tensor<2x4x4xi1>
    return %6, %5 : tensor<2x4x4xi1>, tensor<2x4x4xcomplex<f32>>
  }
  func.func private @_where_25(%arg0: tensor<4x4xi1>) -> tensor<2x4x4xi1> {
    %0 = stablehlo.broadcast_in_dim %arg0, dims = [1, 2] : (tensor<4x4xi1>) -> tensor<2x4x4xi1>
    return %0 : tensor<2x4x4xi1>
  }
  func.func private @slogdet_26(%arg0: tensor<2x4x4xcomplex<f32>>, %arg1: tensor<2x4x4xcomplex<f32>>, %arg2: tensor<2x4xi32>, %arg3: tensor<2x4x4xi1>, %arg4: tensor<2x4x4xcomplex<f32>>, %arg5: tensor<2xf32>) -> tensor<2x4x4xcomplex<f32>> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %1 = stablehlo.complex %arg5, %0 : tensor<2xcomplex<f32>>
    %2 = call @trace_27(%arg3, %arg4, %1) : (tensor<2x4x4xi1>, tensor<2x4x4xcomplex<f32>>, tensor<2xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %3 = call @solve_29(%arg0, %arg1, %arg2, %2) : (tensor<2x4x4xcomplex<f32>>, tensor<2x4x4xcomplex<f32>>, tensor<2x4xi32>, tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    return %3 : tensor<2x4x4xcomplex<f32>>
  }
  func.func private @trace_27(%arg0: tensor<2x4x4xi1>, %arg1: tensor<2x4x4xcomplex<f32>>, %arg2: tensor<2xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>> {
    %0 = stablehlo.broadcast_in_dim %arg2, dims = [0] : (tensor<2xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %1 = call @_where_28(%arg0, %arg1, %0) : (tensor<2x4x4xi1>, tensor<2x4x4xcomplex<f32>>, tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %2 = stablehlo.transpose %1, dims = [0, 2, 1] : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    return %2 : tensor<2x4x4xcomplex<f32>>
  }
  func.func private @_where_28(%arg0: tensor<2x4x4xi1>, %arg1: tensor<2x4x4xcomplex<f32>>, %arg2: tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>> {
    %cst = stablehlo.constant dense<(0.000000e+00,0.000000e+00)> : tensor<complex<f32>>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<complex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %1 = stablehlo.select %arg0, %arg2, %0 : tensor<2x4x4xi1>, tensor<2x4x4xcomplex<f32>>
    return %1 : tensor<2x4x4xcomplex<f32>>
  }
  func.func private @solve_29(%arg0: tensor<2x4x4xcomplex<f32>>, %arg1: tensor<2x4x4xcomplex<f32>>, %arg2: tensor<2x4xi32>, %arg3: tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>> {
    %0 = stablehlo.transpose %arg3, dims = [0, 2, 1] : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %1 = call @_lu_solve_30(%arg1, %arg2, %0) : (tensor<2x4x4xcomplex<f32>>, tensor<2x4xi32>, tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %2 = stablehlo.transpose %1, dims = [0, 2, 1] : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    return %2 : tensor<2x4x4xcomplex<f32>>
  }
  func.func private @_lu_solve_30(%arg0: tensor<2x4x4xcomplex<f32>>, %arg1: tensor<2x4xi32>, %arg2: tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>> {
    %c = stablehlo.constant dense<4> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %arg2, dims = [0, 1, 2] : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4x1xcomplex<f32>>
    %1 = stablehlo.transpose %0, dims = [0, 2, 3, 1] : (tensor<2x4x4x1xcomplex<f32>>) -> tensor<2x4x1x4xcomplex<f32>>
    %2 = stablehlo.reshape %1 : (tensor<2x4x1x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %3 = stablehlo.custom_call @lapack_ctrsm_ffi(%arg0, %2) {mhlo.backend_config = {diag = 78 : ui8, side = 76 : ui8, trans_x = 84 : ui8, uplo = 85 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 1, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>]} : (tensor<2x4x4xcomplex<f32>>, tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %4 = stablehlo.reshape %3 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x1x4xcomplex<f32>>
    %5 = stablehlo.reshape %4 : (tensor<2x4x1x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %6 = stablehlo.custom_call @lapack_ctrsm_ffi(%arg0, %5) {mhlo.backend_config = {diag = 85 : ui8, side = 76 : ui8, trans_x = 84 : ui8, uplo = 76 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 1, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>]} : (tensor<2x4x4xcomplex<f32>>, tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %7 = stablehlo.reshape %6 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x1x4xcomplex<f32>>
    %8 = stablehlo.iota dim = 0 : tensor<4xi32>
    %9 = stablehlo.broadcast_in_dim %8, dims = [1] : (tensor<4xi32>) -> tensor<2x4xi32>
    %10:2 = "stablehlo.sort"(%arg1, %9) <{dimension = 1 : i64, is_stable = true}> ({
    ^bb0(%arg3: tensor<i32>, %arg4: tensor<i32>, %arg5: tensor<i32>, %arg6: tensor<i32>):
      %20 = stablehlo.compare LT, %arg3, %arg4, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %20 : tensor<i1>
    }) : (tensor<2x4xi32>, tensor<2x4xi32>) -> (tensor<2x4xi32>, tensor<2x4xi32>)
    %11 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<2x4xi32>
    %12 = stablehlo.compare LT, %10#1, %11, SIGNED : (tensor<2x4xi32>, tensor<2x4xi32>) -> tensor<2x4xi1>
    %13 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2x4xi32>
    %14 = stablehlo.add %10#1, %13 : tensor<2x4xi32>
    %15 = stablehlo.select %12, %14, %10#1 : tensor<2x4xi1>, tensor<2x4xi32>
    %16 = stablehlo.broadcast_in_dim %15, dims = [0, 1] : (tensor<2x4xi32>) -> tensor<2x4x1xi32>
    %17 = stablehlo.transpose %7, dims = [0, 3, 1, 2] : (tensor<2x4x1x4xcomplex<f32>>) -> tensor<2x4x4x1xcomplex<f32>>
    %18 = "stablehlo.gather"(%17, %16) <{dimension_numbers = #stablehlo.gather<offset_dims = [1, 3], collapsed_slice_dims = [2], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [2], index_vector_dim = 2>, slice_sizes = array<i64: 1, 4, 1, 1>}> : (tensor<2x4x4x1xcomplex<f32>>, tensor<2x4x1xi32>) -> tensor<2x4x4x1xcomplex<f32>>
    %19 = stablehlo.reshape %18 : (tensor<2x4x4x1xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    return %19 : tensor<2x4x4xcomplex<f32>>
  }
  func.func private @slogdet_31(%arg0: tensor<2x4x4xf64>) -> (tensor<2xf64>, tensor<2xf64>) {
    %cst = stablehlo.constant dense<0xFFF0000000000000> : tensor<f64>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f64>
    %c = stablehlo.constant dense<-2> : tensor<i64>
    %c_1 = stablehlo.constant dense<2> : tensor<i64>
    %c_2 = stablehlo.constant dense<false> : tensor<i1>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %c_4 = stablehlo.constant dense<1> : tensor<i64>
    %c_5 = stablehlo.constant dense<4> : tensor<i64>
    %c_6 = stablehlo.constant dense<0> : tensor<i64>
    %cst_7 = stablehlo.constant dense<0x7FF8000000000000> : tensor<f64>
    %c_8 = stablehlo.constant dense<0> : tensor<i32>
    %c_9 = stablehlo.constant dense<1> : tensor<i32>
    %0:3 = stablehlo.custom_call @lapack_dgetrf_ffi(%arg0) {mhlo.backend_config = {}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x4xf64>) -> (tensor<2x4x4xf64>, tensor<2x4xi32>, tensor<2xi32>)
    %1 = stablehlo.broadcast_in_dim %c_9, dims = [] : (tensor<i32>) -> tensor<2x4xi32>
    %2 = stablehlo.subtract %0#1, %1 : tensor<2x4xi32>
    %3 = stablehlo.broadcast_in_dim %c_8, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %4 = stablehlo.compare GE, %0#2, %3, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %6 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f64>) -> tensor<2x4x4xf64>
    %7 = stablehlo.broadcast_in_dim %5, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x4x4xi1>
    %8 = stablehlo.select %7, %0#0, %6 : tensor<2x4x4xi1>, tensor<2x4x4xf64>
    %9 = stablehlo.iota dim = 1 : tensor<2x4xi32>
    %10:4 = stablehlo.while(%iterArg = %2, %iterArg_10 = %c_6, %iterArg_11 = %c_6, %iterArg_12 = %9) : tensor<2x4xi32>, tensor<i64>, tensor<i64>, tensor<2x4xi32>
    cond {
      %37 = stablehlo.compare LT, %iterArg_10, %c_5, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %37 : tensor<i1>
    } do {
      %37:2 = func.call @closed_call(%iterArg, %iterArg_11, %iterArg_12) : (tensor<2x4xi32>, tensor<i64>, tensor<2x4xi32>) -> (tensor<i64>, tensor<2x4xi32>)
      %38 = stablehlo.add %iterArg_10, %c_4 : tensor<i64>
      stablehlo.return %iterArg, %38, %37#0, %37#1 : tensor<2x4xi32>, tensor<i64>, tensor<i64>, tensor<2x4xi32>
    }
    %11 = call @diagonal_32(%8) : (tensor<2x4x4xf64>) -> tensor<2x4xf64>
    %12 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f64>) -> tensor<2x4xf64>
    %13 = stablehlo.compare EQ, %11, %12, FLOAT : (tensor<2x4xf64>, tensor<2x4xf64>) -> tensor<2x4xi1>
    %14 = stablehlo.reduce(%13 init: %c_2) applies stablehlo.or across dimensions = [1] : (tensor<2x4xi1>, tensor<i1>) -> tensor<2xi1>
    %15 = stablehlo.iota dim = 0 : tensor<4xi32>
    %16 = stablehlo.broadcast_in_dim %15, dims = [1] : (tensor<4xi32>) -> tensor<1x4xi32>
    %17 = stablehlo.broadcast_in_dim %16, dims = [0, 1] : (tensor<1x4xi32>) -> tensor<2x4xi32>
    %18 = stablehlo.compare NE, %2, %17, SIGNED : (tensor<2x4xi32>, tensor<2x4xi32>) -> tensor<2x4xi1>
    %19 = call @count_nonzero(%18) : (tensor<2x4xi1>) -> tensor<2xi64>
    %20 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f64>) -> tensor<2x4xf64>
    %21 = stablehlo.compare LT, %11, %20, FLOAT : (tensor<2x4xf64>, tensor<2x4xf64>) -> tensor<2x4xi1>
    %22 = call @count_nonzero(%21) : (tensor<2x4xi1>) -> tensor<2xi64>
    %23 = stablehlo.add %19, %22 : tensor<2xi64>
    %24 = call @remainder(%23, %c_1) : (tensor<2xi64>, tensor<i64>) -> tensor<2xi64>
    %25 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<2xi64>
    %26 = stablehlo.multiply %25, %24 : tensor<2xi64>
    %27 = stablehlo.broadcast_in_dim %c_4, dims = [] : (tensor<i64>) -> tensor<2xi64>
    %28 = stablehlo.add %26, %27 : tensor<2xi64>
    %29 = stablehlo.convert %28 : (tensor<2xi64>) -> tensor<2xf64>
    %30 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f64>) -> tensor<2xf64>
    %31 = stablehlo.multiply %30, %29 : tensor<2xf64>
    %32 = call @_where_33(%14, %cst_3, %31) : (tensor<2xi1>, tensor<f64>, tensor<2xf64>) -> tensor<2xf64>
    %33 = stablehlo.abs %11 : tensor<2x4xf64>
    %34 = stablehlo.log %33 : tensor<2x4xf64>
    %35 = stablehlo.reduce(%34 init: %cst_3) applies stablehlo.add across dimensions = [1] : (tensor<2x4xf64>, tensor<f64>) -> tensor<2xf64>
    %36 = call @_where_33(%14, %cst, %35) : (tensor<2xi1>, tensor<f64>, tensor<2xf64>) -> tensor<2xf64>
    return %32, %36 : tensor<2xf64>, tensor<2xf64>
  }
  func.func private @diagonal_32(%arg0: tensor<2x4x4xf64>) -> tensor<2x4xf64> {
    %c = stablehlo.constant dense<4> : tensor<i64>
    %c_0 = stablehlo.constant dense<0> : tensor<i64>
    %0 = stablehlo.iota dim = 0 : tensor<4xi64>
    %1 = stablehlo.iota dim = 0 : tensor<4xi64>
    %2 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i64>) -> tensor<4xi64>
    %3 = stablehlo.compare LT, %0, %2, SIGNED : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi1>
    %4 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<4xi64>
    %5 = stablehlo.add %0, %4 : tensor<4xi64>
    %6 = stablehlo.select %3, %5, %0 : tensor<4xi1>, tensor<4xi64>
    %7 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i64>) -> tensor<4xi64>
    %8 = stablehlo.compare LT, %1, %7, SIGNED : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi1>
    %9 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<4xi64>
    %10 = stablehlo.add %1, %9 : tensor<4xi64>
    %11 = stablehlo.select %8, %10, %1 : tensor<4xi1>, tensor<4xi64>
    %12 = stablehlo.convert %6 : (tensor<4xi64>) -> tensor<4xi32>
    %13 = stablehlo.convert %11 : (tensor<4xi64>) -> tensor<4xi32>
    %14 = stablehlo.broadcast_in_dim %12, dims = [0] : (tensor<4xi32>) -> tensor<4x1xi32>
    %15 = stablehlo.broadcast_in_dim %13, dims = [0] : (tensor<4xi32>) -> tensor<4x1xi32>
    %16 = stablehlo.concatenate %14, %15, dim = 1 : (tensor<4x1xi32>, tensor<4x1xi32>) -> tensor<4x2xi32>
    %17 = "stablehlo.gather"(%arg0, %16) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [1, 2], start_index_map = [1, 2], index_vector_dim = 1>, slice_sizes = array<i64: 2, 1, 1>}> : (tensor<2x4x4xf64>, tensor<4x2xi32>) -> tensor<2x4xf64>
    return %17 : tensor<2x4xf64>
  }
  func.func private @_where_33(%arg0: tensor<2xi1>, %arg1: tensor<f64>, %arg2: tensor<2xf64>) -> tensor<2xf64> {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<f64>) -> tensor<2xf64>
    %1 = stablehlo.select %arg0, %0, %arg2 : tensor<2xi1>, tensor<2xf64>
    return %1 : tensor<2xf64>
  }
  func.func private @lu_34(%arg0: tensor<2x4x3xf64>) -> (tensor<2x4x4xf64>, tensor<2x4x3xf64>, tensor<2x3x3xf64>) {
    %0:3 = call @_lu_35(%arg0) : (tensor<2x4x3xf64>) -> (tensor<2x4x4xf64>, tensor<2x4x3xf64>, tensor<2x3x3xf64>)
    return %0#0, %0#1, %0#2 : tensor<2x4x4xf64>, tensor<2x4x3xf64>, tensor<2x3x3xf64>
  }
  func.func private @_lu_35(%arg0: tensor<2x4x3xf64>) -> (tensor<2x4x4xf64>, tensor<2x4x3xf64>, tensor<2x3x3xf64>) {
    %c = stablehlo.constant dense<1> : tensor<i64>
    %c_0 = stablehlo.constant dense<3> : tensor<i64>
    %c_1 = stablehlo.constant dense<0> : tensor<i64>
    %cst = stablehlo.constant dense<0x7FF8000000000000> : tensor<f64>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %c_3 = stablehlo.constant dense<1> : tensor<i32>
    %0:3 = stablehlo.custom_call @lapack_dgetrf_ffi(%arg0) {mhlo.backend_config = {}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x3xf64>) -> (tensor<2x4x3xf64>, tensor<2x3xi32>, tensor<2xi32>)
    %1 = stablehlo.broadcast_in_dim %c_3, dims = [] : (tensor<i32>) -> tensor<2x3xi32>
    %2 = stablehlo.subtract %0#1, %1 : tensor<2x3xi32>
    %3 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %4 = stablehlo.compare GE, %0#2, %3, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %6 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<2x4x3xf64>
    %7 = stablehlo.broadcast_in_dim %5, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x4x3xi1>
    %8 = stablehlo.select %7, %0#0, %6 : tensor<2x4x3xi1>, tensor<2x4x3xf64>
    %9 = stablehlo.iota dim = 1 : tensor<2x4xi32>
    %10:4 = stablehlo.while(%iterArg = %2, %iterArg_4 = %c_1, %iterArg_5 = %c_1, %iterArg_6 = %9) : tensor<2x3xi32>, tensor<i64>, tensor<i64>, tensor<2x4xi32>
    cond {
      %31 = stablehlo.compare LT, %iterArg_4, %c_0, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %31 : tensor<i1>
    } do {
      %31:2 = func.call @closed_call_1(%iterArg, %iterArg_5, %iterArg_6) : (tensor<2x3xi32>, tensor<i64>, tensor<2x4xi32>) -> (tensor<i64>, tensor<2x4xi32>)
      %32 = stablehlo.add %iterArg_4, %c : tensor<i64>
      stablehlo.return %iterArg, %32, %31#0, %31#1 : tensor<2x3xi32>, tensor<i64>, tensor<i64>, tensor<2x4xi32>
    }
    %11 = stablehlo.broadcast_in_dim %10#3, dims = [0, 2] : (tensor<2x4xi32>) -> tensor<2x1x4xi32>
    %12 = stablehlo.iota dim = 0 : tensor<4xi32>
    %13 = stablehlo.broadcast_in_dim %12, dims = [0] : (tensor<4xi32>) -> tensor<4x1xi32>
    %14 = stablehlo.broadcast_in_dim %13, dims = [1, 2] : (tensor<4x1xi32>) -> tensor<1x4x1xi32>
    %15 = stablehlo.broadcast_in_dim %11, dims = [0, 1, 2] : (tensor<2x1x4xi32>) -> tensor<2x4x4xi32>
    %16 = stablehlo.broadcast_in_dim %14, dims = [0, 1, 2] : (tensor<1x4x1xi32>) -> tensor<2x4x4xi32>
    %17 = stablehlo.compare EQ, %15, %16, SIGNED : (tensor<2x4x4xi32>, tensor<2x4x4xi32>) -> tensor<2x4x4xi1>
    %18 = stablehlo.convert %17 : (tensor<2x4x4xi1>) -> tensor<2x4x4xf64>
    %19 = call @tril_36(%8) : (tensor<2x4x3xf64>) -> tensor<2x4x3xf64>
    %20 = stablehlo.iota dim = 0 : tensor<4x3xi64>
    %21 = stablehlo.iota dim = 1 : tensor<4x3xi64>
    %22 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<i64>) -> tensor<4x3xi64>
    %23 = stablehlo.add %20, %22 : tensor<4x3xi64>
    %24 = stablehlo.compare EQ, %23, %21, SIGNED : (tensor<4x3xi64>, tensor<4x3xi64>) -> tensor<4x3xi1>
    %25 = stablehlo.convert %24 : (tensor<4x3xi1>) -> tensor<4x3xf64>
    %26 = stablehlo.broadcast_in_dim %25, dims = [1, 2] : (tensor<4x3xf64>) -> tensor<1x4x3xf64>
    %27 = stablehlo.broadcast_in_dim %26, dims = [0, 1, 2] : (tensor<1x4x3xf64>) -> tensor<2x4x3xf64>
    %28 = stablehlo.add %19, %27 : tensor<2x4x3xf64>
    %29 = call @triu_37(%8) : (tensor<2x4x3xf64>) -> tensor<2x4x3xf64>
    %30 = stablehlo.slice %29 [0:2, 0:3, 0:3] : (tensor<2x4x3xf64>) -> tensor<2x3x3xf64>
    return %18, %28, %30 : tensor<2x4x4xf64>, tensor<2x4x3xf64>, tensor<2x3x3xf64>
  }
  func.func private @tril_36(%arg0: tensor<2x4x3xf64>) -> tensor<2x4x3xf64> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %c = stablehlo.constant dense<-1> : tensor<i64>
    %0 = stablehlo.iota dim = 0 : tensor<4x3xi64>
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<4x3xi64>
    %2 = stablehlo.add %0, %1 : tensor<4x3xi64>
    %3 = stablehlo.iota dim = 1 : tensor<4x3xi64>
    %4 = stablehlo.compare GE, %2, %3, SIGNED : (tensor<4x3xi64>, tensor<4x3xi64>) -> tensor<4x3xi1>
    %5 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<4x3xf64>
    %6 = stablehlo.broadcast_in_dim %4, dims = [1, 2] : (tensor<4x3xi1>) -> tensor<2x4x3xi1>
    %7 = stablehlo.broadcast_in_dim %5, dims = [1, 2] : (tensor<4x3xf64>) -> tensor<2x4x3xf64>
    %8 = stablehlo.select %6, %arg0, %7 : tensor<2x4x3xi1>, tensor<2x4x3xf64>
    return %8 : tensor<2x4x3xf64>
  }
  func.func private @triu_37(%arg0: tensor<2x4x3xf64>) -> tensor<2x4x3xf64> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %c = stablehlo.constant dense<-1> : tensor<i64>
    %0 = stablehlo.iota dim = 0 : tensor<4x3xi64>
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<4x3xi64>
    %2 = stablehlo.add %0, %1 : tensor<4x3xi64>
    %3 = stablehlo.iota dim = 1 : tensor<4x3xi64>
    %4 = stablehlo.compare GE, %2, %3, SIGNED : (tensor<4x3xi64>, tensor<4x3xi64>) -> tensor<4x3xi1>
    %5 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<4x3xf64>
    %6 = stablehlo.broadcast_in_dim %4, dims = [1, 2] : (tensor<4x3xi1>) -> tensor<2x4x3xi1>
    %7 = stablehlo.broadcast_in_dim %5, dims = [1, 2] : (tensor<4x3xf64>) -> tensor<2x4x3xf64>
    %8 = stablehlo.select %6, %7, %arg0 : tensor<2x4x3xi1>, tensor<2x4x3xf64>
    return %8 : tensor<2x4x3xf64>
  }
  func.func private @solve_38(%arg0: tensor<2x4x4xf64>, %arg1: tensor<2x4x3xf64>) -> tensor<2x4x3xf64> {
    %c = stablehlo.constant dense<1> : tensor<i64>
    %c_0 = stablehlo.constant dense<4> : tensor<i64>
    %c_1 = stablehlo.constant dense<0> : tensor<i64>
    %cst = stablehlo.constant dense<0x7FF8000000000000> : tensor<f64>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %c_3 = stablehlo.constant dense<1> : tensor<i32>
    %0:3 = stablehlo.custom_call @lapack_dgetrf_ffi(%arg0) {mhlo.backend_config = {}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x4xf64>) -> (tensor<2x4x4xf64>, tensor<2x4xi32>, tensor<2xi32>)
    %1 = stablehlo.broadcast_in_dim %c_3, dims = [] : (tensor<i32>) -> tensor<2x4xi32>
    %2 = stablehlo.subtract %0#1, %1 : tensor<2x4xi32>
    %3 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %4 = stablehlo.compare GE, %0#2, %3, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %6 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<2x4x4xf64>
    %7 = stablehlo.broadcast_in_dim %5, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x4x4xi1>
    %8 = stablehlo.select %7, %0#0, %6 : tensor<2x4x4xi1>, tensor<2x4x4xf64>
    %9 = stablehlo.iota dim = 1 : tensor<2x4xi32>
    %10:4 = stablehlo.while(%iterArg = %2, %iterArg_4 = %c_1, %iterArg_5 = %c_1, %iterArg_6 = %9) : tensor<2x4xi32>, tensor<i64>, tensor<i64>, tensor<2x4xi32>
    cond {
      %14 = stablehlo.compare LT, %iterArg_4, %c_0, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %14 : tensor<i1>
    } do {
      %14:2 = func.call @closed_call(%iterArg, %iterArg_5, %iterArg_6) : (tensor<2x4xi32>, tensor<i64>, tensor<2x4xi32>) -> (tensor<i64>, tensor<2x4xi32>)
      %15 = stablehlo.add %iterArg_4, %c : tensor<i64>
      stablehlo.return %iterArg, %15, %14#0, %14#1 : tensor<2x4xi32>, tensor<i64>, tensor<i64>, tensor<2x4xi32>
    }
    %11 = stablehlo.transpose %arg1, dims = [0, 2, 1] : (tensor<2x4x3xf64>) -> tensor<2x3x4xf64>
    %12 = call @_lu_solve_39(%8, %10#3, %11) : (tensor<2x4x4xf64>, tensor<2x4xi32>, tensor<2x3x4xf64>) -> tensor<2x3x4xf64>
    %13 = stablehlo.transpose %12, dims = [0, 2, 1] : (tensor<2x3x4xf64>) -> tensor<2x4x3xf64>
    return %13 : tensor<2x4x3xf64>
  }
  func.func private @_lu_solve_39(%arg0: tensor<2x4x4xf64>, %arg1: tensor<2x4xi32>, %arg2: tensor<2x3x4xf64>) -> tensor<2x3x4xf64> {
    %c = stablehlo.constant dense<4> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %arg2, dims = [0, 1, 2] : (tensor<2x3x4xf64>) -> tensor<2x3x4x1xf64>
    %1 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<2x4xi32>
    %2 = stablehlo.compare LT, %arg1, %1, SIGNED : (tensor<2x4xi32>, tensor<2x4xi32>) -> tensor<2x4xi1>
    %3 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2x4xi32>
    %4 = stablehlo.add %arg1, %3 : tensor<2x4xi32>
    %5 = stablehlo.select %2, %4, %arg1 : tensor<2x4xi1>, tensor<2x4xi32>
    %6 = stablehlo.broadcast_in_dim %5, dims = [0, 1] : (tensor<2x4xi32>) -> tensor<2x4x1xi32>
    %7 = "stablehlo.gather"(%0, %6) <{dimension_numbers = #stablehlo.gather<offset_dims = [1, 3], collapsed_slice_dims = [2], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [2], index_vector_dim = 2>, slice_sizes = array<i64: 1, 3, 1, 1>}> : (tensor<2x3x4x1xf64>, tensor<2x4x1xi32>) -> tensor<2x3x4x1xf64>
    %8 = stablehlo.transpose %7, dims = [0, 2, 3, 1] : (tensor<2x3x4x1xf64>) -> tensor<2x4x1x3xf64>
    %9 = stablehlo.reshape %8 : (tensor<2x4x1x3xf64>) -> tensor<2x4x3xf64>
    %10 = stablehlo.custom_call @lapack_dtrsm_ffi(%arg0, %9) {mhlo.backend_config = {diag = 85 : ui8, side = 76 : ui8, trans_x = 78 : ui8, uplo = 76 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 1, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>]} : (tensor<2x4x4xf64>, tensor<2x4x3xf64>) -> tensor<2x4x3xf64>
    %11 = stablehlo.reshape %10 : (tensor<2x4x3xf64>) -> tensor<2x4x1x3xf64>
    %12 = stablehlo.reshape %11 : (tensor<2x4x1x3xf64>) -> tensor<2x4x3xf64>
    %13 = stablehlo.custom_call @lapack_dtrsm_ffi(%arg0, %12) {mhlo.backend_config = {diag = 78 : ui8, side = 76 : ui8, trans_x = 78 : ui8, uplo = 85 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 1, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>]} : (tensor<2x4x4xf64>, tensor<2x4x3xf64>) -> tensor<2x4x3xf64>
    %14 = stablehlo.reshape %13 : (tensor<2x4x3xf64>) -> tensor<2x4x1x3xf64>
    %15 = stablehlo.transpose %14, dims = [0, 3, 1, 2] : (tensor<2x4x1x3xf64>) -> tensor<2x3x4x1xf64>
    %16 = stablehlo.reshape %15 : (tensor<2x3x4x1xf64>) -> tensor<2x3x4xf64>
    return %16 : tensor<2x3x4xf64>
  }
  func.func private @inv_40(%arg0: tensor<2x4x4xf64>) -> tensor<2x4x4xf64> {
    %c = stablehlo.constant dense<0> : tensor<i64>
    %0 = stablehlo.iota dim = 0 : tensor<4x4xi64>
    %1 = stablehlo.iota dim = 1 : tensor<4x4xi64>
    %2 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<4x4xi64>
    %3 = stablehlo.add %0, %2 : tensor<4x4xi64>
    %4 = stablehlo.compare EQ, %3, %1, SIGNED : (tensor<4x4xi64>, tensor<4x4xi64>) -> tensor<4x4xi1>
    %5 = stablehlo.convert %4 : (tensor<4x4xi1>) -> tensor<4x4xf64>
    %6 = stablehlo.broadcast_in_dim %5, dims = [1, 2] : (tensor<4x4xf64>) -> tensor<2x4x4xf64>
    %7 = call @solve_41(%arg0, %6) : (tensor<2x4x4xf64>, tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    return %7 : tensor<2x4x4xf64>
  }
  func.func private @solve_41(%arg0: tensor<2x4x4xf64>, %arg1: tensor<2x4x4xf64>) -> tensor<2x4x4xf64> {
    %c = stablehlo.constant dense<1> : tensor<i64>
    %c_0 = stablehlo.constant dense<4> : tensor<i64>
    %c_1 = stablehlo.constant dense<0> : tensor<i64>
    %cst = stablehlo.constant dense<0x7FF8000000000000> : tensor<f64>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %c_3 = stablehlo.constant dense<1> : tensor<i32>
    %0:3 = stablehlo.custom_call @lapack_dgetrf_ffi(%arg0) {mhlo.backend_config = {}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x4xf64>) -> (tensor<2x4x4xf64>, tensor<2x4xi32>, tensor<2xi32>)
    %1 = stablehlo.broadcast_in_dim %c_3, dims = [] : (tensor<i32>) -> tensor<2x4xi32>
    %2 = stablehlo.subtract %0#1, %1 : tensor<2x4xi32>
    %3 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %4 = stablehlo.compare GE, %0#2, %3, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %6 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<2x4x4xf64>
    %7 = stablehlo.broadcast_in_dim %5, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x4x4xi1>
    %8 = stablehlo.select %7, %0#0, %6 : tensor<2x4x4xi1>, tensor<2x4x4xf64>
    %9 = stablehlo.iota dim = 1 : tensor<2x4xi32>
    %10:4 = stablehlo.while(%iterArg = %2, %iterArg_4 = %c_1, %iterArg_5 = %c_1, %iterArg_6 = %9) : tensor<2x4xi32>, tensor<i64>, tensor<i64>, tensor<2x4xi32>
    cond {
      %14 = stablehlo.compare LT, %iterArg_4, %c_0, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %14 : tensor<i1>
    } do {
      %14:2 = func.call @closed_call(%iterArg, %iterArg_5, %iterArg_6) : (tensor<2x4xi32>, tensor<i64>, tensor<2x4xi32>) -> (tensor<i64>, tensor<2x4xi32>)
      %15 = stablehlo.add %iterArg_4, %c : tensor<i64>
      stablehlo.return %iterArg, %15, %14#0, %14#1 : tensor<2x4xi32>, tensor<i64>, tensor<i64>, tensor<2x4xi32>
    }
    %11 = stablehlo.transpose %arg1, dims = [0, 2, 1] : (tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %12 = call @_lu_solve_42(%8, %10#3, %11) : (tensor<2x4x4xf64>, tensor<2x4xi32>, tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %13 = stablehlo.transpose %12, dims = [0, 2, 1] : (tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    return %13 : tensor<2x4x4xf64>
  }
  func.func private @_lu_solve_42(%arg0: tensor<2x4x4xf64>, %arg1: tensor<2x4xi32>, %arg2: tensor<2x4x4xf64>) -> tensor<2x4x4xf64> {
    %c = stablehlo.constant dense<4> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %arg2, dims = [0, 1, 2] : (tensor<2x4x4xf64>) -> tensor<2x4x4x1xf64>
    %1 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<2x4xi32>
    %2 = stablehlo.compare LT, %arg1, %1, SIGNED : (tensor<2x4xi32>, tensor<2x4xi32>) -> tensor<2x4xi1>
    %3 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2x4xi32>
    %4 = stablehlo.add %arg1, %3 : tensor<2x4xi32>
    %5 = stablehlo.select %2, %4, %arg1 : tensor<2x4xi1>, tensor<2x4xi32>
    %6 = stablehlo.broadcast_in_dim %5, dims = [0, 1] : (tensor<2x4xi32>) -> tensor<2x4x1xi32>
    %7 = "stablehlo.gather"(%0, %6) <{dimension_numbers = #stablehlo.gather<offset_dims = [1, 3], collapsed_slice_dims = [2], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [2], index_vector_dim = 2>, slice_sizes = array<i64: 1, 4, 1, 1>}> : (tensor<2x4x4x1xf64>, tensor<2x4x1xi32>) -> tensor<2x4x4x1xf64>
    %8 = stablehlo.transpose %7, dims = [0, 2, 3, 1] : (tensor<2x4x4x1xf64>) -> tensor<2x4x1x4xf64>
    %9 = stablehlo.reshape %8 : (tensor<2x4x1x4xf64>) -> tensor<2x4x4xf64>
    %10 = stablehlo.custom_call @lapack_dtrsm_ffi(%arg0, %9) {mhlo.backend_config = {diag = 85 : ui8, side = 76 : ui8, trans_x = 78 : ui8, uplo = 76 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 1, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>]} : (tensor<2x4x4xf64>, tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %11 = stablehlo.reshape %10 : (tensor<2x4x4xf64>) -> tensor<2x4x1x4xf64>
    %12 = stablehlo.reshape %11 : (tensor<2x4x1x4xf64>) -> tensor<2x4x4xf64>
    %13 = stablehlo.custom_call @lapack_dtrsm_ffi(%arg0, %12) {mhlo.backend_config = {diag = 78 : ui8, side = 76 : ui8, trans_x = 78 : ui8, uplo = 85 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 1, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>]} : (tensor<2x4x4xf64>, tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %14 = stablehlo.reshape %13 : (tensor<2x4x4xf64>) -> tensor<2x4x1x4xf64>
    %15 = stablehlo.transpose %14, dims = [0, 3, 1, 2] : (tensor<2x4x1x4xf64>) -> tensor<2x4x4x1xf64>
    %16 = stablehlo.reshape %15 : (tensor<2x4x4x1xf64>) -> tensor<2x4x4xf64>
    return %16 : tensor<2x4x4xf64>
  }
  func.func private @det_43(%arg0: tensor<2x4x4xf64>) -> tensor<2xf64> {
    %0:2 = call @slogdet_31(%arg0) : (tensor<2x4x4xf64>) -> (tensor<2xf64>, tensor<2xf64>)
    %1 = stablehlo.exponential %0#1 : tensor<2xf64>
    %2 = stablehlo.multiply %0#0, %1 : tensor<2xf64>
    return %2 : tensor<2xf64>
  }
  func.func private @slogdet_44(%arg0: tensor<2x4x4xf64>) -> (tensor<2xf64>, tensor<2xf64>, tensor<2x4x4xf64>, tensor<2x4xi32>, tensor<2x4x4xi1>, tensor<2x4x4xf64>) {
    %0:2 = call @slogdet_45(%arg0) : (tensor<2x4x4xf64>) -> (tensor<2xf64>, tensor<2xf64>)
    %1:2 = call @solve_48(%arg0) : (tensor<2x4x4xf64>) -> (tensor<2x4x4xf64>, tensor<2x4xi32>)
    %2:2 = call @trace_49() : () -> (tensor<2x4x4xi1>, tensor<2x4x4xf64>)
    return %0#0, %0#1, %1#0, %1#1, %2#0, %2#1 : tensor<2xf64>, tensor<2xf64>, tensor<2x4x4xf64>, tensor<2x4xi32>, tensor<2x4x4xi1>, tensor<2x4x4xf64>
  }
  func.func private @slogdet_45(%arg0: tensor<2x4x4xf64>) -> (tensor<2xf64>, tensor<2xf64>) {
    %cst = stablehlo.constant dense<0xFFF0000000000000> : tensor<f64>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f64>
    %c = stablehlo.constant dense<-2> : tensor<i64>
    %c_1 = stablehlo.constant dense<2> : tensor<i64>
    %c_2 = stablehlo.constant dense<false> : tensor<i1>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %c_4 = stablehlo.constant dense<1> : tensor<i64>
    %c_5 = stablehlo.constant dense<4> : tensor<i64>
    %c_6 = stablehlo.constant dense<0> : tensor<i64>
    %cst_7 = stablehlo.constant dense<0x7FF8000000000000> : tensor<f64>
    %c_8 = stablehlo.constant dense<0> : tensor<i32>
    %c_9 = stablehlo.constant dense<1> : tensor<i32>
    %0:3 = stablehlo.custom_call @lapack_dgetrf_ffi(%arg0) {mhlo.backend_config = {}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x4xf64>) -> (tensor<2x4x4xf64>, tensor<2x4xi32>, tensor<2xi32>)
    %1 = stablehlo.broadcast_in_dim %c_9, dims = [] : (tensor<i32>) -> tensor<2x4xi32>
    %2 = stablehlo.subtract %0#1, %1 : tensor<2x4xi32>
    %3 = stablehlo.broadcast_in_dim %c_8, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %4 = stablehlo.compare GE, %0#2, %3, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %6 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f64>) -> tensor<2x4x4xf64>
    %7 = stablehlo.broadcast_in_dim %5, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x4x4xi1>
    %8 = stablehlo.select %7, %0#0, %6 : tensor<2x4x4xi1>, tensor<2x4x4xf64>
    %9 = stablehlo.iota dim = 1 : tensor<2x4xi32>
    %10:4 = stablehlo.while(%iterArg = %2, %iterArg_10 = %c_6, %iterArg_11 = %c_6, %iterArg_12 = %9) : tensor<2x4xi32>, tensor<i64>, tensor<i64>, tensor<2x4xi32>
    cond {
      %37 = stablehlo.compare LT, %iterArg_10, %c_5, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %37 : tensor<i1>
    } do {
      %37:2 = func.call @closed_call(%iterArg, %iterArg_11, %iterArg_12) : (tensor<2x4xi32>, tensor<i64>, tensor<2x4xi32>) -> (tensor<i64>, tensor<2x4xi32>)
      %38 = stablehlo.add %iterArg_10, %c_4 : tensor<i64>
      stablehlo.return %iterArg, %38, %37#0, %37#1 : tensor<2x4xi32>, tensor<i64>, tensor<i64>, tensor<2x4xi32>
    }
    %11 = call @diagonal_46(%8) : (tensor<2x4x4xf64>) -> tensor<2x4xf64>
    %12 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f64>) -> tensor<2x4xf64>
    %13 = stablehlo.compare EQ, %11, %12, FLOAT : (tensor<2x4xf64>, tensor<2x4xf64>) -> tensor<2x4xi1>
    %14 = stablehlo.reduce(%13 init: %c_2) applies stablehlo.or across dimensions = [1] : (tensor<2x4xi1>, tensor<i1>) -> tensor<2xi1>
    %15 = stablehlo.iota dim = 0 : tensor<4xi32>
    %16 = stablehlo.broadcast_in_dim %15, dims = [1] : (tensor<4xi32>) -> tensor<1x4xi32>
    %17 = stablehlo.broadcast_in_dim %16, dims = [0, 1] : (tensor<1x4xi32>) -> tensor<2x4xi32>
    %18 = stablehlo.compare NE, %2, %17, SIGNED : (tensor<2x4xi32>, tensor<2x4xi32>) -> tensor<2x4xi1>
    %19 = call @count_nonzero_20(%18) : (tensor<2x4xi1>) -> tensor<2xi64>
    %20 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f64>) -> tensor<2x4xf64>
    %21 = stablehlo.compare LT, %11, %20, FLOAT : (tensor<2x4xf64>, tensor<2x4xf64>) -> tensor<2x4xi1>
    %22 = call @count_nonzero_20(%21) : (tensor<2x4xi1>) -> tensor<2xi64>
    %23 = stablehlo.add %19, %22 : tensor<2xi64>
    %24 = call @remainder_21(%23, %c_1) : (tensor<2xi64>, tensor<i64>) -> tensor<2xi64>
    %25 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<2xi64>
    %26 = stablehlo.multiply %25, %24 : tensor<2xi64>
    %27 = stablehlo.broadcast_in_dim %c_4, dims = [] : (tensor<i64>) -> tensor<2xi64>
    %28 = stablehlo.add %26, %27 : tensor<2xi64>
    %29 = stablehlo.convert %28 : (tensor<2xi64>) -> tensor<2xf64>
    %30 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f64>) -> tensor<2xf64>
    %31 = stablehlo.multiply %30, %29 : tensor<2xf64>
    %32 = call @_where_47(%14, %cst_3, %31) : (tensor<2xi1>, tensor<f64>, tensor<2xf64>) -> tensor<2xf64>
    %33 = stablehlo.abs %11 : tensor<2x4xf64>
    %34 = stablehlo.log %33 : tensor<2x4xf64>
    %35 = stablehlo.reduce(%34 init: %cst_3) applies stablehlo.add across dimensions = [1] : (tensor<2x4xf64>, tensor<f64>) -> tensor<2xf64>
    %36 = call @_where_47(%14, %cst, %35) : (tensor<2xi1>, tensor<f64>, tensor<2xf64>) -> tensor<2xf64>
    return %32, %36 : tensor<2xf64>, tensor<2xf64>
  }
  func.func private @diagonal_46(%arg0: tensor<2x4x4xf64>) -> tensor<2x4xf64> {
    %c = stablehlo.constant dense<4> : tensor<i64>
    %c_0 = stablehlo.constant dense<0> : tensor<i64>
    %0 = stablehlo.iota dim = 0 : tensor<4xi64>
    %1 = stablehlo.iota dim = 0 : tensor<4xi64>
    %2 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i64>) -> tensor<4xi64>
    %3 = stablehlo.compare LT, %0, %2, SIGNED : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi1>
    %4 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<4xi64>
    %5 = stablehlo.add %0, %4 : tensor<4xi64>
    %6 = stablehlo.select %3, %5, %0 : tensor<4xi1>, tensor<4xi64>
    %7 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i64>) -> tensor<4xi64>
    %8 = stablehlo.compare LT, %1, %7, SIGNED : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi1>
    %9 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<4xi64>
    %10 = stablehlo.add %1, %9 : tensor<4xi64>
    %11 = stablehlo.select %8, %10, %1 : tensor<4xi1>, tensor<4xi64>
    %12 = stablehlo.convert %6 : (tensor<4xi64>) -> tensor<4xi32>
    %13 = stablehlo.convert %11 : (tensor<4xi64>) -> tensor<4xi32>
    %14 = stablehlo.broadcast_in_dim %12, dims = [0] : (tensor<4xi32>) -> tensor<4x1xi32>
    %15 = stablehlo.broadcast_in_dim %13, dims = [0] : (tensor<4xi32>) -> tensor<4x1xi32>
    %16 = stablehlo.concatenate %14, %15, dim = 1 : (tensor<4x1xi32>, tensor<4x1xi32>) -> tensor<4x2xi32>
    %17 = "stablehlo.gather"(%arg0, %16) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [1, 2], start_index_map = [1, 2], index_vector_dim = 1>, slice_sizes = array<i64: 2, 1, 1>}> : (tensor<2x4x4xf64>, tensor<4x2xi32>) -> tensor<2x4xf64>
    return %17 : tensor<2x4xf64>
  }
  func.func private @_where_47(%arg0: tensor<2xi1>, %arg1: tensor<f64>, %arg2: tensor<2xf64>) -> tensor<2xf64> {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<f64>) -> tensor<2xf64>
    %1 = stablehlo.select %arg0, %0, %arg2 : tensor<2xi1>, tensor<2xf64>
    return %1 : tensor<2xf64>
  }
  func.func private @solve_48(%arg0: tensor<2x4x4xf64>) -> (tensor<2x4x4xf64>, tensor<2x4xi32>) {
    %c = stablehlo.constant dense<1> : tensor<i64>
    %c_0 = stablehlo.constant dense<4> : tensor<i64>
    %c_1 = stablehlo.constant dense<0> : tensor<i64>
    %cst = stablehlo.constant dense<0x7FF8000000000000> : tensor<f64>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %c_3 = stablehlo.constant dense<1> : tensor<i32>
    %0:3 = stablehlo.custom_call @lapack_dgetrf_ffi(%arg0) {mhlo.backend_config = {}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x4xf64>) -> (tensor<2x4x4xf64>, tensor<2x4xi32>, tensor<2xi32>)
    %1 = stablehlo.broadcast_in_dim %c_3, dims = [] : (tensor<i32>) -> tensor<2x4xi32>
    %2 = stablehlo.subtract %0#1, %1 : tensor<2x4xi32>
    %3 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %4 = stablehlo.compare GE, %0#2, %3, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %6 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<2x4x4xf64>
    %7 = stablehlo.broadcast_in_dim %5, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x4x4xi1>
    %8 = stablehlo.select %7, %0#0, %6 : tensor<2x4x4xi1>, tensor<2x4x4xf64>
    %9 = stablehlo.iota dim = 1 : tensor<2x4xi32>
    %10:4 = stablehlo.while(%iterArg = %2, %iterArg_4 = %c_1, %iterArg_5 = %c_1, %iterArg_6 = %9) : tensor<2x4xi32>, tensor<i64>, tensor<i64>, tensor<2x4xi32>
    cond {
      %11 = stablehlo.compare LT, %iterArg_4, %c_0, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %11 : tensor<i1>
    } do {
      %11:2 = func.call @closed_call(%iterArg, %iterArg_5, %iterArg_6) : (tensor<2x4xi32>, tensor<i64>, tensor<2x4xi32>) -> (tensor<i64>, tensor<2x4xi32>)
      %12 = stablehlo.add %iterArg_4, %c : tensor<i64>
      stablehlo.return %iterArg, %12, %11#0, %11#1 : tensor<2x4xi32>, tensor<i64>, tensor<i64>, tensor<2x4xi32>
    }
    return %8, %10#3 : tensor<2x4x4xf64>, tensor<2x4xi32>
  }
  func.func private @trace_49() -> (tensor<2x4x4xi1>, tensor<2x4x4xf64>) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %c = stablehlo.constant dense<0> : tensor<i64>
    %0 = stablehlo.iota dim = 0 : tensor<4x4xi64>
    %1 = stablehlo.iota dim = 1 : tensor<4x4xi64>
    %2 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<4x4xi64>
    %3 = stablehlo.add %0, %2 : tensor<4x4xi64>
    %4 = stablehlo.compare EQ, %3, %1, SIGNED : (tensor<4x4xi64>, tensor<4x4xi64>) -> tensor<4x4xi1>
    %5 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<2x4x4xf64>
    %6 = call @_where_50(%4) : (tensor<4x4xi1>) -> tensor<2x4x4xi1>
    return %6, %5 : tensor<2x4x4xi1>, tensor<2x4x4xf64>
  }
  func.func private @_where_50(%arg0: tensor<4x4xi1>) -> tensor<2x4x4xi1> {
    %0 = stablehlo.broadcast_in_dim %arg0, dims = [1, 2] : (tensor<4x4xi1>) -> tensor<2x4x4xi1>
    return %0 : tensor<2x4x4xi1>
  }
  func.func private @slogdet_51(%arg0: tensor<2x4x4xf64>, %arg1: tensor<2x4x4xf64>, %arg2: tensor<2x4xi32>, %arg3: tensor<2x4x4xi1>, %arg4: tensor<2x4x4xf64>, %arg5: tensor<2xf64>) -> tensor<2x4x4xf64> {
    %0 = call @trace_52(%arg3, %arg4, %arg5) : (tensor<2x4x4xi1>, tensor<2x4x4xf64>, tensor<2xf64>) -> tensor<2x4x4xf64>
    %1 = call @solve_54(%arg0, %arg1, %arg2, %0) : (tensor<2x4x4xf64>, tensor<2x4x4xf64>, tensor<2x4xi32>, tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    return %1 : tensor<2x4x4xf64>
  }
  func.func private @trace_52(%arg0: tensor<2x4x4xi1>, %arg1: tensor<2x4x4xf64>, %arg2: tensor<2xf64>) -> tensor<2x4x4xf64> {
    %0 = stablehlo.broadcast_in_dim %arg2, dims = [0] : (tensor<2xf64>) -> tensor<2x4x4xf64>
    %1 = call @_where_53(%arg0, %arg1, %0) : (tensor<2x4x4xi1>, tensor<2x4x4xf64>, tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %2 = stablehlo.transpose %1, dims = [0, 2, 1] : (tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    return %2 : tensor<2x4x4xf64>
  }
  func.func private @_where_53(%arg0: tensor<2x4x4xi1>, %arg1: tensor<2x4x4xf64>, %arg2: tensor<2x4x4xf64>) -> tensor<2x4x4xf64> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<2x4x4xf64>
    %1 = stablehlo.select %arg0, %arg2, %0 : tensor<2x4x4xi1>, tensor<2x4x4xf64>
    return %1 : tensor<2x4x4xf64>
  }
  func.func private @solve_54(%arg0: tensor<2x4x4xf64>, %arg1: tensor<2x4x4xf64>, %arg2: tensor<2x4xi32>, %arg3: tensor<2x4x4xf64>) -> tensor<2x4x4xf64> {
    %0 = stablehlo.transpose %arg3, dims = [0, 2, 1] : (tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %1 = call @_lu_solve_55(%arg1, %arg2, %0) : (tensor<2x4x4xf64>, tensor<2x4xi32>, tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %2 = stablehlo.transpose %1, dims = [0, 2, 1] : (tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    return %2 : tensor<2x4x4xf64>
  }
  func.func private @_lu_solve_55(%arg0: tensor<2x4x4xf64>, %arg1: tensor<2x4xi32>, %arg2: tensor<2x4x4xf64>) -> tensor<2x4x4xf64> {
    %c = stablehlo.constant dense<4> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %arg2, dims = [0, 1, 2] : (tensor<2x4x4xf64>) -> tensor<2x4x4x1xf64>
    %1 = stablehlo.transpose %0, dims = [0, 2, 3, 1] : (tensor<2x4x4x1xf64>) -> tensor<2x4x1x4xf64>
    %2 = stablehlo.reshape %1 : (tensor<2x4x1x4xf64>) -> tensor<2x4x4xf64>
    %3 = stablehlo.custom_call @lapack_dtrsm_ffi(%arg0, %2) {mhlo.backend_config = {diag = 78 : ui8, side = 76 : ui8, trans_x = 84 : ui8, uplo = 85 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 1, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>]} : (tensor<2x4x4xf64>, tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %4 = stablehlo.reshape %3 : (tensor<2x4x4xf64>) -> tensor<2x4x1x4xf64>
    %5 = stablehlo.reshape %4 : (tensor<2x4x1x4xf64>) -> tensor<2x4x4xf64>
    %6 = stablehlo.custom_call @lapack_dtrsm_ffi(%arg0, %5) {mhlo.backend_config = {diag = 85 : ui8, side = 76 : ui8, trans_x = 84 : ui8, uplo = 76 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 1, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>]} : (tensor<2x4x4xf64>, tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %7 = stablehlo.reshape %6 : (tensor<2x4x4xf64>) -> tensor<2x4x1x4xf64>
    %8 = stablehlo.iota dim = 0 : tensor<4xi32>
    %9 = stablehlo.broadcast_in_dim %8, dims = [1] : (tensor<4xi32>) -> tensor<2x4xi32>
    %10:2 = "stablehlo.sort"(%arg1, %9) <{dimension = 1 : i64, is_stable = true}> ({
    ^bb0(%arg3: tensor<i32>, %arg4: tensor<i32>, %arg5: tensor<i32>, %arg6: tensor<i32>):
      %20 = stablehlo.compare LT, %arg3, %arg4, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %20 : tensor<i1>
    }) : (tensor<2x4xi32>, tensor<2x4xi32>) -> (tensor<2x4xi32>, tensor<2x4xi32>)
    %11 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<2x4xi32>
    %12 = stablehlo.compare LT, %10#1, %11, SIGNED : (tensor<2x4xi32>, tensor<2x4xi32>) -> tensor<2x4xi1>
    %13 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2x4xi32>
    %14 = stablehlo.add %10#1, %13 : tensor<2x4xi32>
    %15 = stablehlo.select %12, %14, %10#1 : tensor<2x4xi1>, tensor<2x4xi32>
    %16 = stablehlo.broadcast_in_dim %15, dims = [0, 1] : (tensor<2x4xi32>) -> tensor<2x4x1xi32>
    %17 = stablehlo.transpose %7, dims = [0, 3, 1, 2] : (tensor<2x4x1x4xf64>) -> tensor<2x4x4x1xf64>
    %18 = "stablehlo.gather"(%17, %16) <{dimension_numbers = #stablehlo.gather<offset_dims = [1, 3], collapsed_slice_dims = [2], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [2], index_vector_dim = 2>, slice_sizes = array<i64: 1, 4, 1, 1>}> : (tensor<2x4x4x1xf64>, tensor<2x4x1xi32>) -> tensor<2x4x4x1xf64>
    %19 = stablehlo.reshape %18 : (tensor<2x4x4x1xf64>) -> tensor<2x4x4xf64>
    return %19 : tensor<2x4x4xf64>
  }
  func.func private @slogdet_56(%arg0: tensor<2x4x4xcomplex<f64>>) -> (tensor<2xcomplex<f64>>, tensor<2xf64>) {
    %cst = stablehlo.constant dense<(0xFFF0000000000000,0.000000e+00)> : tensor<complex<f64>>
    %c = stablehlo.constant dense<-2> : tensor<i64>
    %c_0 = stablehlo.constant dense<2> : tensor<i64>
    %cst_1 = stablehlo.constant dense<(1.000000e+00,0.000000e+00)> : tensor<complex<f64>>
    %c_2 = stablehlo.constant dense<false> : tensor<i1>
    %cst_3 = stablehlo.constant dense<(0.000000e+00,0.000000e+00)> : tensor<complex<f64>>
    %c_4 = stablehlo.constant dense<1> : tensor<i64>
    %c_5 = stablehlo.constant dense<4> : tensor<i64>
    %c_6 = stablehlo.constant dense<0> : tensor<i64>
    %cst_7 = stablehlo.constant dense<(0x7FF8000000000000,0x7FF8000000000000)> : tensor<complex<f64>>
    %c_8 = stablehlo.constant dense<0> : tensor<i32>
    %c_9 = stablehlo.constant dense<1> : tensor<i32>
    %0:3 = stablehlo.custom_call @lapack_zgetrf_ffi(%arg0) {mhlo.backend_config = {}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x4xcomplex<f64>>) -> (tensor<2x4x4xcomplex<f64>>, tensor<2x4xi32>, tensor<2xi32>)
    %1 = stablehlo.broadcast_in_dim %c_9, dims = [] : (tensor<i32>) -> tensor<2x4xi32>
    %2 = stablehlo.subtract %0#1, %1 : tensor<2x4xi32>
    %3 = stablehlo.broadcast_in_dim %c_8, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %4 = stablehlo.compare GE, %0#2, %3, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %6 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<complex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %7 = stablehlo.broadcast_in_dim %5, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x4x4xi1>
    %8 = stablehlo.select %7, %0#0, %6 : tensor<2x4x4xi1>, tensor<2x4x4xcomplex<f64>>
    %9 = stablehlo.iota dim = 1 : tensor<2x4xi32>
    %10:4 = stablehlo.while(%iterArg = %2, %iterArg_10 = %c_6, %iterArg_11 = %c_6, %iterArg_12 = %9) : tensor<2x4xi32>, tensor<i64>, tensor<i64>, tensor<2x4xi32>
    cond {
      %38 = stablehlo.compare LT, %iterArg_10, %c_5, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %38 : tensor<i1>
    } do {
      %38:2 = func.call @closed_call(%iterArg, %iterArg_11, %iterArg_12) : (tensor<2x4xi32>, tensor<i64>, tensor<2x4xi32>) -> (tensor<i64>, tensor<2x4xi32>)
      %39 = stablehlo.add %iterArg_10, %c_4 : tensor<i64>
      stablehlo.return %iterArg, %39, %38#0, %38#1 : tensor<2x4xi32>, tensor<i64>, tensor<i64>, tensor<2x4xi32>
    }
    %11 = call @diagonal_57(%8) : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4xcomplex<f64>>
    %12 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<complex<f64>>) -> tensor<2x4xcomplex<f64>>
    %13 = stablehlo.compare EQ, %11, %12, FLOAT : (tensor<2x4xcomplex<f64>>, tensor<2x4xcomplex<f64>>) -> tensor<2x4xi1>
    %14 = stablehlo.reduce(%13 init: %c_2) applies stablehlo.or across dimensions = [1] : (tensor<2x4xi1>, tensor<i1>) -> tensor<2xi1>
    %15 = stablehlo.iota dim = 0 : tensor<4xi32>
    %16 = stablehlo.broadcast_in_dim %15, dims = [1] : (tensor<4xi32>) -> tensor<1x4xi32>
    %17 = stablehlo.broadcast_in_dim %16, dims = [0, 1] : (tensor<1x4xi32>) -> tensor<2x4xi32>
    %18 = stablehlo.compare NE, %2, %17, SIGNED : (tensor<2x4xi32>, tensor<2x4xi32>) -> tensor<2x4xi1>
    %19 = call @count_nonzero(%18) : (tensor<2x4xi1>) -> tensor<2xi64>
    %20 = stablehlo.abs %11 : (tensor<2x4xcomplex<f64>>) -> tensor<2x4xf64>
    %21 = stablehlo.convert %20 : (tensor<2x4xf64>) -> tensor<2x4xcomplex<f64>>
    %22 = stablehlo.divide %11, %21 : tensor<2x4xcomplex<f64>>
    %23 = stablehlo.reduce(%22 init: %cst_1) applies stablehlo.multiply across dimensions = [1] : (tensor<2x4xcomplex<f64>>, tensor<complex<f64>>) -> tensor<2xcomplex<f64>>
    %24 = call @remainder(%19, %c_0) : (tensor<2xi64>, tensor<i64>) -> tensor<2xi64>
    %25 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<2xi64>
    %26 = stablehlo.multiply %25, %24 : tensor<2xi64>
    %27 = stablehlo.broadcast_in_dim %c_4, dims = [] : (tensor<i64>) -> tensor<2xi64>
    %28 = stablehlo.add %26, %27 : tensor<2xi64>
    %29 = stablehlo.convert %28 : (tensor<2xi64>) -> tensor<2xcomplex<f64>>
    %30 = stablehlo.multiply %23, %29 : tensor<2xcomplex<f64>>
    %31 = call @_where_58(%14, %cst_3, %30) : (tensor<2xi1>, tensor<complex<f64>>, tensor<2xcomplex<f64>>) -> tensor<2xcomplex<f64>>
    %32 = stablehlo.abs %11 : (tensor<2x4xcomplex<f64>>) -> tensor<2x4xf64>
    %33 = stablehlo.log %32 : tensor<2x4xf64>
    %34 = stablehlo.convert %33 : (tensor<2x4xf64>) -> tensor<2x4xcomplex<f64>>
    %35 = stablehlo.reduce(%34 init: %cst_3) applies stablehlo.add across dimensions = [1] : (tensor<2x4xcomplex<f64>>, tensor<complex<f64>>) -> tensor<2xcomplex<f64>>
    %36 = call @_where_58(%14, %cst, %35) : (tensor<2xi1>, tensor<complex<f64>>, tensor<2xcomplex<f64>>) -> tensor<2xcomplex<f64>>
    %37 = stablehlo.real %36 : (tensor<2xcomplex<f64>>) -> tensor<2xf64>
    return %31, %37 : tensor<2xcomplex<f64>>, tensor<2xf64>
  }
  func.func private @diagonal_57(%arg0: tensor<2x4x4xcomplex<f64>>) -> tensor<2x4xcomplex<f64>> {
    %c = stablehlo.constant dense<4> : tensor<i64>
    %c_0 = stablehlo.constant dense<0> : tensor<i64>
    %0 = stablehlo.iota dim = 0 : tensor<4xi64>
    %1 = stablehlo.iota dim = 0 : tensor<4xi64>
    %2 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i64>) -> tensor<4xi64>
    %3 = stablehlo.compare LT, %0, %2, SIGNED : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi1>
    %4 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<4xi64>
    %5 = stablehlo.add %0, %4 : tensor<4xi64>
    %6 = stablehlo.select %3, %5, %0 : tensor<4xi1>, tensor<4xi64>
    %7 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i64>) -> tensor<4xi64>
    %8 = stablehlo.compare LT, %1, %7, SIGNED : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi1>
    %9 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<4xi64>
    %10 = stablehlo.add %1, %9 : tensor<4xi64>
    %11 = stablehlo.select %8, %10, %1 : tensor<4xi1>, tensor<4xi64>
    %12 = stablehlo.convert %6 : (tensor<4xi64>) -> tensor<4xi32>
    %13 = stablehlo.convert %11 : (tensor<4xi64>) -> tensor<4xi32>
    %14 = stablehlo.broadcast_in_dim %12, dims = [0] : (tensor<4xi32>) -> tensor<4x1xi32>
    %15 = stablehlo.broadcast_in_dim %13, dims = [0] : (tensor<4xi32>) -> tensor<4x1xi32>
    %16 = stablehlo.concatenate %14, %15, dim = 1 : (tensor<4x1xi32>, tensor<4x1xi32>) -> tensor<4x2xi32>
    %17 = "stablehlo.gather"(%arg0, %16) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [1, 2], start_index_map = [1, 2], index_vector_dim = 1>, slice_sizes = array<i64: 2, 1, 1>}> : (tensor<2x4x4xcomplex<f64>>, tensor<4x2xi32>) -> tensor<2x4xcomplex<f64>>
    return %17 : tensor<2x4xcomplex<f64>>
  }
  func.func private @_where_58(%arg0: tensor<2xi1>, %arg1: tensor<complex<f64>>, %arg2: tensor<2xcomplex<f64>>) -> tensor<2xcomplex<f64>> {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<complex<f64>>) -> tensor<2xcomplex<f64>>
    %1 = stablehlo.select %arg0, %0, %arg2 : tensor<2xi1>, tensor<2xcomplex<f64>>
    return %1 : tensor<2xcomplex<f64>>
  }
  func.func private @lu_59(%arg0: tensor<2x4x3xcomplex<f64>>) -> (tensor<2x4x4xf64>, tensor<2x4x3xcomplex<f64>>, tensor<2x3x3xcomplex<f64>>) {
    %0:3 = call @_lu_60(%arg0) : (tensor<2x4x3xcomplex<f64>>) -> (tensor<2x4x4xf64>, tensor<2x4x3xcomplex<f64>>, tensor<2x3x3xcomplex<f64>>)
    return %0#0, %0#1, %0#2 : tensor<2x4x4xf64>, tensor<2x4x3xcomplex<f64>>, tensor<2x3x3xcomplex<f64>>
  }
  func.func private @_lu_60(%arg0: tensor<2x4x3xcomplex<f64>>) -> (tensor<2x4x4xf64>, tensor<2x4x3xcomplex<f64>>, tensor<2x3x3xcomplex<f64>>) {
    %c = stablehlo.constant dense<1> : tensor<i64>
    %c_0 = stablehlo.constant dense<3> : tensor<i64>
    %c_1 = stablehlo.constant dense<0> : tensor<i64>
    %cst = stablehlo.constant dense<(0x7FF8000000000000,0x7FF8000000000000)> : tensor<complex<f64>>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %c_3 = stablehlo.constant dense<1> : tensor<i32>
    %0:3 = stablehlo.custom_call @lapack_zgetrf_ffi(%arg0) {mhlo.backend_config = {}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x3xcomplex<f64>>) -> (tensor<2x4x3xcomplex<f64>>, tensor<2x3xi32>, tensor<2xi32>)
    %1 = stablehlo.broadcast_in_dim %c_3, dims = [] : (tensor<i32>) -> tensor<2x3xi32>
    %2 = stablehlo.subtract %0#1, %1 : tensor<2x3xi32>
    %3 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %4 = stablehlo.compare GE, %0#2, %3, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %6 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<complex<f64>>) -> tensor<2x4x3xcomplex<f64>>
    %7 = stablehlo.broadcast_in_dim %5, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x4x3xi1>
    %8 = stablehlo.select %7, %0#0, %6 : tensor<2x4x3xi1>, tensor<2x4x3xcomplex<f64>>
    %9 = stablehlo.iota dim = 1 : tensor<2x4xi32>
    %10:4 = stablehlo.while(%iterArg = %2, %iterArg_4 = %c_1, %iterArg_5 = %c_1, %iterArg_6 = %9) : tensor<2x3xi32>, tensor<i64>, tensor<i64>, tensor<2x4xi32>
    cond {
      %32 = stablehlo.compare LT, %iterArg_4, %c_0, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %32 : tensor<i1>
    } do {
      %32:2 = func.call @closed_call_1(%iterArg, %iterArg_5, %iterArg_6) : (tensor<2x3xi32>, tensor<i64>, tensor<2x4xi32>) -> (tensor<i64>, tensor<2x4xi32>)
      %33 = stablehlo.add %iterArg_4, %c : tensor<i64>
      stablehlo.return %iterArg, %33, %32#0, %32#1 : tensor<2x3xi32>, tensor<i64>, tensor<i64>, tensor<2x4xi32>
    }
    %11 = stablehlo.broadcast_in_dim %10#3, dims = [0, 2] : (tensor<2x4xi32>) -> tensor<2x1x4xi32>
    %12 = stablehlo.iota dim = 0 : tensor<4xi32>
    %13 = stablehlo.broadcast_in_dim %12, dims = [0] : (tensor<4xi32>) -> tensor<4x1xi32>
    %14 = stablehlo.broadcast_in_dim %13, dims = [1, 2] : (tensor<4x1xi32>) -> tensor<1x4x1xi32>
    %15 = stablehlo.broadcast_in_dim %11, dims = [0, 1, 2] : (tensor<2x1x4xi32>) -> tensor<2x4x4xi32>
    %16 = stablehlo.broadcast_in_dim %14, dims = [0, 1, 2] : (tensor<1x4x1xi32>) -> tensor<2x4x4xi32>
    %17 = stablehlo.compare EQ, %15, %16, SIGNED : (tensor<2x4x4xi32>, tensor<2x4x4xi32>) -> tensor<2x4x4xi1>
    %18 = stablehlo.convert %17 : (tensor<2x4x4xi1>) -> tensor<2x4x4xcomplex<f64>>
    %19 = stablehlo.real %18 : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xf64>
    %20 = call @tril_61(%8) : (tensor<2x4x3xcomplex<f64>>) -> tensor<2x4x3xcomplex<f64>>
    %21 = stablehlo.iota dim = 0 : tensor<4x3xi64>
    %22 = stablehlo.iota dim = 1 : tensor<4x3xi64>
    %23 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<i64>) -> tensor<4x3xi64>
    %24 = stablehlo.add %21, %23 : tensor<4x3xi64>
    %25 = stablehlo.compare EQ, %24, %22, SIGNED : (tensor<4x3xi64>, tensor<4x3xi64>) -> tensor<4x3xi1>
    %26 = stablehlo.convert %25 : (tensor<4x3xi1>) -> tensor<4x3xcomplex<f64>>
    %27 = stablehlo.broadcast_in_dim %26, dims = [1, 2] : (tensor<4x3xcomplex<f64>>) -> tensor<1x4x3xcomplex<f64>>
    %28 = stablehlo.broadcast_in_dim %27, dims = [0, 1, 2] : (tensor<1x4x3xcomplex<f64>>) -> tensor<2x4x3xcomplex<f64>>
    %29 = stablehlo.add %20, %28 : tensor<2x4x3xcomplex<f64>>
    %30 = call @triu_62(%8) : (tensor<2x4x3xcomplex<f64>>) -> tensor<2x4x3xcomplex<f64>>
    %31 = stablehlo.slice %30 [0:2, 0:3, 0:3] : (tensor<2x4x3xcomplex<f64>>) -> tensor<2x3x3xcomplex<f64>>
    return %19, %29, %31 : tensor<2x4x4xf64>, tensor<2x4x3xcomplex<f64>>, tensor<2x3x3xcomplex<f64>>
  }
  func.func private @tril_61(%arg0: tensor<2x4x3xcomplex<f64>>) -> tensor<2x4x3xcomplex<f64>> {
    %cst = stablehlo.constant dense<(0.000000e+00,0.000000e+00)> : tensor<complex<f64>>
    %c = stablehlo.constant dense<-1> : tensor<i64>
    %0 = stablehlo.iota dim = 0 : tensor<4x3xi64>
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<4x3xi64>
    %2 = stablehlo.add %0, %1 : tensor<4x3xi64>
    %3 = stablehlo.iota dim = 1 : tensor<4x3xi64>
    %4 = stablehlo.compare GE, %2, %3, SIGNED : (tensor<4x3xi64>, tensor<4x3xi64>) -> tensor<4x3xi1>
    %5 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<complex<f64>>) -> tensor<4x3xcomplex<f64>>
    %6 = stablehlo.broadcast_in_dim %4, dims = [1, 2] : (tensor<4x3xi1>) -> tensor<2x4x3xi1>
    %7 = stablehlo.broadcast_in_dim %5, dims = [1, 2] : (tensor<4x3xcomplex<f64>>) -> tensor<2x4x3xcomplex<f64>>
    %8 = stablehlo.select %6, %arg0, %7 : tensor<2x4x3xi1>, tensor<2x4x3xcomplex<f64>>
    return %8 : tensor<2x4x3xcomplex<f64>>
  }
  func.func private @triu_62(%arg0: tensor<2x4x3xcomplex<f64>>) -> tensor<2x4x3xcomplex<f64>> {
    %cst = stablehlo.constant dense<(0.000000e+00,0.000000e+00)> : tensor<complex<f64>>
    %c = stablehlo.constant dense<-1> : tensor<i64>
    %0 = stablehlo.iota dim = 0 : tensor<4x3xi64>
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<4x3xi64>
    %2 = stablehlo.add %0, %1 : tensor<4x3xi64>
    %3 = stablehlo.iota dim = 1 : tensor<4x3xi64>
    %4 = stablehlo.compare GE, %2, %3, SIGNED : (tensor<4x3xi64>, tensor<4x3xi64>) -> tensor<4x3xi1>
    %5 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<complex<f64>>) -> tensor<4x3xcomplex<f64>>
    %6 = stablehlo.broadcast_in_dim %4, dims = [1, 2] : (tensor<4x3xi1>) -> tensor<2x4x3xi1>
    %7 = stablehlo.broadcast_in_dim %5, dims = [1, 2] : (tensor<4x3xcomplex<f64>>) -> tensor<2x4x3xcomplex<f64>>
    %8 = stablehlo.select %6, %7, %arg0 : tensor<2x4x3xi1>, tensor<2x4x3xcomplex<f64>>
    return %8 : tensor<2x4x3xcomplex<f64>>
  }
  func.func private @solve_63(%arg0: tensor<2x4x4xcomplex<f64>>, %arg1: tensor<2x4x3xcomplex<f64>>) -> tensor<2x4x3xcomplex<f64>> {
    %c = stablehlo.constant dense<1> : tensor<i64>
    %c_0 = stablehlo.constant dense<4> : tensor<i64>
    %c_1 = stablehlo.constant dense<0> : tensor<i64>
    %cst = stablehlo.constant dense<(0x7FF8000000000000,0x7FF8000000000000)> : tensor<complex<f64>>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %c_3 = stablehlo.constant dense<1> : tensor<i32>
    %0:3 = stablehlo.custom_call @lapack_zgetrf_ffi(%arg0) {mhlo.backend_config = {}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x4xcomplex<f64>>) -> (tensor<2x4x4xcomplex<f64>>, tensor<2x4xi32>, tensor<2xi32>)
    %1 = stablehlo.broadcast_in_dim %c_3, dims = [] : (tensor<i32>) -> tensor<2x4xi32>
    %2 = stablehlo.subtract %0#1, %1 : tensor<2x4xi32>
    %3 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %4 = stablehlo.compare GE, %0#2, %3, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %6 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<complex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %7 = stablehlo.broadcast_in_dim %5, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x4x4xi1>
    %8 = stablehlo.select %7, %0#0, %6 : tensor<2x4x4xi1>, tensor<2x4x4xcomplex<f64>>
    %9 = stablehlo.iota dim = 1 : tensor<2x4xi32>
    %10:4 = stablehlo.while(%iterArg = %2, %iterArg_4 = %c_1, %iterArg_5 = %c_1, %iterArg_6 = %9) : tensor<2x4xi32>, tensor<i64>, tensor<i64>, tensor<2x4xi32>
    cond {
      %14 = stablehlo.compare LT, %iterArg_4, %c_0, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %14 : tensor<i1>
    } do {
      %14:2 = func.call @closed_call(%iterArg, %iterArg_5, %iterArg_6) : (tensor<2x4xi32>, tensor<i64>, tensor<2x4xi32>) -> (tensor<i64>, tensor<2x4xi32>)
      %15 = stablehlo.add %iterArg_4, %c : tensor<i64>
      stablehlo.return %iterArg, %15, %14#0, %14#1 : tensor<2x4xi32>, tensor<i64>, tensor<i64>, tensor<2x4xi32>
    }
    %11 = stablehlo.transpose %arg1, dims = [0, 2, 1] : (tensor<2x4x3xcomplex<f64>>) -> tensor<2x3x4xcomplex<f64>>
    %12 = call @_lu_solve_64(%8, %10#3, %11) : (tensor<2x4x4xcomplex<f64>>, tensor<2x4xi32>, tensor<2x3x4xcomplex<f64>>) -> tensor<2x3x4xcomplex<f64>>
    %13 = stablehlo.transpose %12, dims = [0, 2, 1] : (tensor<2x3x4xcomplex<f64>>) -> tensor<2x4x3xcomplex<f64>>
    return %13 : tensor<2x4x3xcomplex<f64>>
  }
  func.func private @_lu_solve_64(%arg0: tensor<2x4x4xcomplex<f64>>, %arg1: tensor<2x4xi32>, %arg2: tensor<2x3x4xcomplex<f64>>) -> tensor<2x3x4xcomplex<f64>> {
    %c = stablehlo.constant dense<4> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %arg2, dims = [0, 1, 2] : (tensor<2x3x4xcomplex<f64>>) -> tensor<2x3x4x1xcomplex<f64>>
    %1 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<2x4xi32>
    %2 = stablehlo.compare LT, %arg1, %1, SIGNED : (tensor<2x4xi32>, tensor<2x4xi32>) -> tensor<2x4xi1>
    %3 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2x4xi32>
    %4 = stablehlo.add %arg1, %3 : tensor<2x4xi32>
    %5 = stablehlo.select %2, %4, %arg1 : tensor<2x4xi1>, tensor<2x4xi32>
    %6 = stablehlo.broadcast_in_dim %5, dims = [0, 1] : (tensor<2x4xi32>) -> tensor<2x4x1xi32>
    %7 = "stablehlo.gather"(%0, %6) <{dimension_numbers = #stablehlo.gather<offset_dims = [1, 3], collapsed_slice_dims = [2], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [2], index_vector_dim = 2>, slice_sizes = array<i64: 1, 3, 1, 1>}> : (tensor<2x3x4x1xcomplex<f64>>, tensor<2x4x1xi32>) -> tensor<2x3x4x1xcomplex<f64>>
    %8 = stablehlo.transpose %7, dims = [0, 2, 3, 1] : (tensor<2x3x4x1xcomplex<f64>>) -> tensor<2x4x1x3xcomplex<f64>>
    %9 = stablehlo.reshape %8 : (tensor<2x4x1x3xcomplex<f64>>) -> tensor<2x4x3xcomplex<f64>>
    %10 = stablehlo.custom_call @lapack_ztrsm_ffi(%arg0, %9) {mhlo.backend_config = {diag = 85 : ui8, side = 76 : ui8, trans_x = 78 : ui8, uplo = 76 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 1, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>]} : (tensor<2x4x4xcomplex<f64>>, tensor<2x4x3xcomplex<f64>>) -> tensor<2x4x3xcomplex<f64>>
    %11 = stablehlo.reshape %10 : (tensor<2x4x3xcomplex<f64>>) -> tensor<2x4x1x3xcomplex<f64>>
    %12 = stablehlo.reshape %11 : (tensor<2x4x1x3xcomplex<f64>>) -> tensor<2x4x3xcomplex<f64>>
    %13 = stablehlo.custom_call @lapack_ztrsm_ffi(%arg0, %12) {mhlo.backend_config = {diag = 78 : ui8, side = 76 : ui8, trans_x = 78 : ui8, uplo = 85 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 1, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>]} : (tensor<2x4x4xcomplex<f64>>, tensor<2x4x3xcomplex<f64>>) -> tensor<2x4x3xcomplex<f64>>
    %14 = stablehlo.reshape %13 : (tensor<2x4x3xcomplex<f64>>) -> tensor<2x4x1x3xcomplex<f64>>
    %15 = stablehlo.transpose %14, dims = [0, 3, 1, 2] : (tensor<2x4x1x3xcomplex<f64>>) -> tensor<2x3x4x1xcomplex<f64>>
    %16 = stablehlo.reshape %15 : (tensor<2x3x4x1xcomplex<f64>>) -> tensor<2x3x4xcomplex<f64>>
    return %16 : tensor<2x3x4xcomplex<f64>>
  }
  func.func private @inv_65(%arg0: tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xcomplex<f64>> {
    %c = stablehlo.constant dense<0> : tensor<i64>
    %0 = stablehlo.iota dim = 0 : tensor<4x4xi64>
    %1 = stablehlo.iota dim = 1 : tensor<4x4xi64>
    %2 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<4x4xi64>
    %3 = stablehlo.add %0, %2 : tensor<4x4xi64>
    %4 = stablehlo.compare EQ, %3, %1, SIGNED : (tensor<4x4xi64>, tensor<4x4xi64>) -> tensor<4x4xi1>
    %5 = stablehlo.convert %4 : (tensor<4x4xi1>) -> tensor<4x4xcomplex<f64>>
    %6 = stablehlo.broadcast_in_dim %5, dims = [1, 2] : (tensor<4x4xcomplex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %7 = call @solve_66(%arg0, %6) : (tensor<2x4x4xcomplex<f64>>, tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    return %7 : tensor<2x4x4xcomplex<f64>>
  }
  func.func private @solve_66(%arg0: tensor<2x4x4xcomplex<f64>>, %arg1: tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xcomplex<f64>> {
    %c = stablehlo.constant dense<1> : tensor<i64>
    %c_0 = stablehlo.constant dense<4> : tensor<i64>
    %c_1 = stablehlo.constant dense<0> : tensor<i64>
    %cst = stablehlo.constant dense<(0x7FF8000000000000,0x7FF8000000000000)> : tensor<complex<f64>>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %c_3 = stablehlo.constant dense<1> : tensor<i32>
    %0:3 = stablehlo.custom_call @lapack_zgetrf_ffi(%arg0) {mhlo.backend_config = {}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x4xcomplex<f64>>) -> (tensor<2x4x4xcomplex<f64>>, tensor<2x4xi32>, tensor<2xi32>)
    %1 = stablehlo.broadcast_in_dim %c_3, dims = [] : (tensor<i32>) -> tensor<2x4xi32>
    %2 = stablehlo.subtract %0#1, %1 : tensor<2x4xi32>
    %3 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %4 = stablehlo.compare GE, %0#2, %3, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %6 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<complex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %7 = stablehlo.broadcast_in_dim %5, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x4x4xi1>
    %8 = stablehlo.select %7, %0#0, %6 : tensor<2x4x4xi1>, tensor<2x4x4xcomplex<f64>>
    %9 = stablehlo.iota dim = 1 : tensor<2x4xi32>
    %10:4 = stablehlo.while(%iterArg = %2, %iterArg_4 = %c_1, %iterArg_5 = %c_1, %iterArg_6 = %9) : tensor<2x4xi32>, tensor<i64>, tensor<i64>, tensor<2x4xi32>
    cond {
      %14 = stablehlo.compare LT, %iterArg_4, %c_0, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %14 : tensor<i1>
    } do {
      %14:2 = func.call @closed_call(%iterArg, %iterArg_5, %iterArg_6) : (tensor<2x4xi32>, tensor<i64>, tensor<2x4xi32>) -> (tensor<i64>, tensor<2x4xi32>)
      %15 = stablehlo.add %iterArg_4, %c : tensor<i64>
      stablehlo.return %iterArg, %15, %14#0, %14#1 : tensor<2x4xi32>, tensor<i64>, tensor<i64>, tensor<2x4xi32>
    }
    %11 = stablehlo.transpose %arg1, dims = [0, 2, 1] : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %12 = call @_lu_solve_67(%8, %10#3, %11) : (tensor<2x4x4xcomplex<f64>>, tensor<2x4xi32>, tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %13 = stablehlo.transpose %12, dims = [0, 2, 1] : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    return %13 : tensor<2x4x4xcomplex<f64>>
  }
  func.func private @_lu_solve_67(%arg0: tensor<2x4x4xcomplex<f64>>, %arg1: tensor<2x4xi32>, %arg2: tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xcomplex<f64>> {
    %c = stablehlo.constant dense<4> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %arg2, dims = [0, 1, 2] : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4x1xcomplex<f64>>
    %1 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<2x4xi32>
    %2 = stablehlo.compare LT, %arg1, %1, SIGNED : (tensor<2x4xi32>, tensor<2x4xi32>) -> tensor<2x4xi1>
    %3 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2x4xi32>
    %4 = stablehlo.add %arg1, %3 : tensor<2x4xi32>
    %5 = stablehlo.select %2, %4, %arg1 : tensor<2x4xi1>, tensor<2x4xi32>
    %6 = stablehlo.broadcast_in_dim %5, dims = [0, 1] : (tensor<2x4xi32>) -> tensor<2x4x1xi32>
    %7 = "stablehlo.gather"(%0, %6) <{dimension_numbers = #stablehlo.gather<offset_dims = [1, 3], collapsed_slice_dims = [2], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [2], index_vector_dim = 2>, slice_sizes = array<i64: 1, 4, 1, 1>}> : (tensor<2x4x4x1xcomplex<f64>>, tensor<2x4x1xi32>) -> tensor<2x4x4x1xcomplex<f64>>
    %8 = stablehlo.transpose %7, dims = [0, 2, 3, 1] : (tensor<2x4x4x1xcomplex<f64>>) -> tensor<2x4x1x4xcomplex<f64>>
    %9 = stablehlo.reshape %8 : (tensor<2x4x1x4xcomplex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %10 = stablehlo.custom_call @lapack_ztrsm_ffi(%arg0, %9) {mhlo.backend_config = {diag = 85 : ui8, side = 76 : ui8, trans_x = 78 : ui8, uplo = 76 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 1, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>]} : (tensor<2x4x4xcomplex<f64>>, tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %11 = stablehlo.reshape %10 : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x1x4xcomplex<f64>>
    %12 = stablehlo.reshape %11 : (tensor<2x4x1x4xcomplex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %13 = stablehlo.custom_call @lapack_ztrsm_ffi(%arg0, %12) {mhlo.backend_config = {diag = 78 : ui8, side = 76 : ui8, trans_x = 78 : ui8, uplo = 85 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 1, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>]} : (tensor<2x4x4xcomplex<f64>>, tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %14 = stablehlo.reshape %13 : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x1x4xcomplex<f64>>
    %15 = stablehlo.transpose %14, dims = [0, 3, 1, 2] : (tensor<2x4x1x4xcomplex<f64>>) -> tensor<2x4x4x1xcomplex<f64>>
    %16 = stablehlo.reshape %15 : (tensor<2x4x4x1xcomplex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    return %16 : tensor<2x4x4xcomplex<f64>>
  }
  func.func private @det_68(%arg0: tensor<2x4x4xcomplex<f64>>) -> tensor<2xcomplex<f64>> {
    %0:2 = call @slogdet_56(%arg0) : (tensor<2x4x4xcomplex<f64>>) -> (tensor<2xcomplex<f64>>, tensor<2xf64>)
    %1 = stablehlo.exponential %0#1 : tensor<2xf64>
    %2 = stablehlo.convert %1 : (tensor<2xf64>) -> tensor<2xcomplex<f64>>
    %3 = stablehlo.multiply %0#0, %2 : tensor<2xcomplex<f64>>
    return %3 : tensor<2xcomplex<f64>>
  }
}
