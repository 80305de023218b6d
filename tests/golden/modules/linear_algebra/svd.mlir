module @jit_whole attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x4x4xf32>, %arg1: tensor<2x4x4xf32>, %arg2: tensor<2x4x3xf32>, %arg3: tensor<2x4x3xf32>, %arg4: tensor<2x4x4xf64>, %arg5: tensor<2x4x4xf64>, %arg6: tensor<2x4x3xf64>, %arg7: tensor<2x4x3xf64>) -> (tensor<2x4x3xf32> {jax.result_info = "result[0]"}, tensor<2x3xf32> {jax.result_info = "result[1]"}, tensor<2x4xf32> {jax.result_info = "result[2]"}, tensor<2x3x3xf32> {jax.result_info = "result[3]"}, tensor<2x4x4xf32> {jax.result_info = "result[4]"}, tensor<2x3xf32> {jax.result_info = "result[5]"}, tensor<2x4x3xf32> {jax.result_info = "result[6]"}, tensor<2x3x4xf32> {jax.result_info = "result[7]"}, tensor<0x4x4xf32> {jax.result_info = "result[8]"}, tensor<2x4x3xf32> {jax.result_info = "result[9]"}, tensor<2x4x3xf32> {jax.result_info = "result[10]"}, tensor<2x3xf32> {jax.result_info = "result[11]"}, tensor<2x4xf32> {jax.result_info = "result[12]"}, tensor<2x3x3xf32> {jax.result_info = "result[13]"}, tensor<2x3x3xf32> {jax.result_info = "result[14]"}, tensor<2x4x4xf32> {jax.result_info = "result[15]"}, tensor<2x4x4xf32> {jax.result_info = "result[16]"}, tensor<2x3xf32> {jax.result_info = "result[17]"}, tensor<2x4x3xf32> {jax.result_info = "result[18]"}, tensor<2x4x3xf32> {jax.result_info = "result[19]"}, tensor<2x3x4xf32> {jax.result_info = "result[20]"}, tensor<2x3x4xf32> {jax.result_info = "result[21]"}, tensor<2x4x4xf32> {jax.result_info = "result[22]"}, tensor<2x4x4xf32> {jax.result_info = "result[23]"}, tensor<2x4x3xf64> {jax.result_info = "result[24]"}, tensor<2x3xf64> {jax.result_info = "result[25]"}, tensor<2x4xf64> {jax.result_info = "result[26]"}, tensor<2x3x3xf64> {jax.result_info = "result[27]"}, tensor<2x4x4xf64> {jax.result_info = "result[28]"}, tensor<2x3xf64> {jax.result_info = "result[29]"}, tensor<2x4x3xf64> {jax.result_info = "result[30]"}, tensor<2x3x4xf64> {jax.result_info = "result[31]"}, tensor<2x4x4xf64> {jax.result_info = "result[32]"}, tensor<2x4x3xf64> {jax.result_info = "result[33]"}, tensor<2x4x3xf64> {jax.result_info = "result[34]"}, tensor<2x3xf64> {jax.result_info = "result[35]"}, tensor<2x4xf64> {jax.result_info = "result[36]"}, tensor<2x3x3xf64> {jax.result_info = "result[37]"}, tensor<2x3x3xf64> {jax.result_info = "result[38]"}, tensor<2x4x4xf64> {jax.result_info = "result[39]"}, tensor<2x4x4xf64> {jax.result_info = "result[40]"}, tensor<2x3xf64> {jax.result_info = "result[41]"}, tensor<2x4x3xf64> {jax.result_info = "result[42]"}, tensor<2x4x3xf64> {jax.result_info = "result[43]"}, tensor<2x3x4xf64> {jax.result_info = "result[44]"}, tensor<2x3x4xf64> {jax.result_info = "result[45]"}, tensor<0x4x4xf64> {jax.result_info = "result[46]"}, tensor<0x4x4xf64> {jax.result_info = "result[47]"}) {
    %cst = stablehlo.constant dense<(0x7FF8000000000000,0x7FF8000000000000)> : tensor<complex<f64>>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f64>
    %cst_1 = stablehlo.constant dense<2.000000e+00> : tensor<f64>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %cst_3 = stablehlo.constant dense<0x7FF8000000000000> : tensor<f64>
    %cst_4 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %cst_5 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %cst_6 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %cst_7 = stablehlo.constant dense<(0x7FC00000,0x7FC00000)> : tensor<complex<f32>>
    %cst_8 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0:3 = call @svd(%arg2) : (tensor<2x4x3xf32>) -> (tensor<2x4x3xf32>, tensor<2x3xf32>, tensor<2x3x3xf32>)
    %1 = stablehlo.transpose %arg2, dims = [0, 2, 1] : (tensor<2x4x3xf32>) -> tensor<2x3x4xf32>
    %2:3 = call @svd_0(%1) : (tensor<2x3x4xf32>) -> (tensor<2x3x3xf32>, tensor<2x3xf32>, tensor<2x4x4xf32>)
    %3:5 = stablehlo.custom_call @lapack_sgesvd_ffi(%arg2) {mhlo.backend_config = {mode = 83 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x3xf32>) -> (tensor<2x4x3xf32>, tensor<2x3xf32>, tensor<2x4x3xf32>, tensor<2x3x3xf32>, tensor<2xi32>)
    %4 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %5 = stablehlo.compare EQ, %3#4, %4, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %6 = stablehlo.broadcast_in_dim %5, dims = [0] : (tensor<2xi1>) -> tensor<2x1xi1>
    %7 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
    %8 = stablehlo.broadcast_in_dim %6, dims = [0, 1] : (tensor<2x1xi1>) -> tensor<2x3xi1>
    %9 = stablehlo.select %8, %3#1, %7 : tensor<2x3xi1>, tensor<2x3xf32>
    %10 = stablehlo.broadcast_in_dim %5, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %11 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<2x4x3xf32>
    %12 = stablehlo.broadcast_in_dim %10, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x4x3xi1>
    %13 = stablehlo.select %12, %3#2, %11 : tensor<2x4x3xi1>, tensor<2x4x3xf32>
    %14 = stablehlo.broadcast_in_dim %5, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %15 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<2x3x3xf32>
    %16 = stablehlo.broadcast_in_dim %14, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x3x3xi1>
    %17 = stablehlo.select %16, %3#3, %15 : tensor<2x3x3xi1>, tensor<2x3x3xf32>
    %18 = stablehlo.broadcast_in_dim %0#1, dims = [0, 2] : (tensor<2x3xf32>) -> tensor<2x1x3xf32>
    %19 = stablehlo.broadcast_in_dim %18, dims = [0, 1, 2] : (tensor<2x1x3xf32>) -> tensor<2x4x3xf32>
    %20 = stablehlo.multiply %0#0, %19 : tensor<2x4x3xf32>
    %21 = stablehlo.dot_general %20, %0#2, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x3xf32>, tensor<2x3x3xf32>) -> tensor<2x4x3xf32>
    %22 = call @svd_1(%arg0) : (tensor<2x4x4xf32>) -> tensor<2x4xf32>
    %23 = stablehlo.transpose %2#0, dims = [0, 2, 1] : (tensor<2x3x3xf32>) -> tensor<2x3x3xf32>
    %24 = stablehlo.dot_general %23, %2#0, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x3x3xf32>, tensor<2x3x3xf32>) -> tensor<2x3x3xf32>
    %25 = stablehlo.transpose %2#2, dims = [0, 2, 1] : (tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
    %26 = stablehlo.dot_general %2#2, %25, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x4xf32>, tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
    %27 = stablehlo.broadcast_in_dim %9, dims = [0, 2] : (tensor<2x3xf32>) -> tensor<2x1x3xf32>
    %28 = stablehlo.broadcast_in_dim %27, dims = [0, 1, 2] : (tensor<2x1x3xf32>) -> tensor<2x4x3xf32>
    %29 = stablehlo.multiply %13, %28 : tensor<2x4x3xf32>
    %30 = stablehlo.dot_general %29, %17, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x3xf32>, tensor<2x3x3xf32>) -> tensor<2x4x3xf32>
    %31 = call @_pinv(%arg2) : (tensor<2x4x3xf32>) -> tensor<2x3x4xf32>
    %32 = stablehlo.slice %arg0 [0:0, 0:4, 0:4] : (tensor<2x4x4xf32>) -> tensor<0x4x4xf32>
    %33 = stablehlo.complex %arg0, %arg1 : tensor<2x4x4xcomplex<f32>>
    %34 = stablehlo.complex %arg2, %arg3 : tensor<2x4x3xcomplex<f32>>
    %35:3 = call @svd_3(%34) : (tensor<2x4x3xcomplex<f32>>) -> (tensor<2x4x3xcomplex<f32>>, tensor<2x3xf32>, tensor<2x3x3xcomplex<f32>>)
    %36 = stablehlo.transpose %34, dims = [0, 2, 1] : (tensor<2x4x3xcomplex<f32>>) -> tensor<2x3x4xcomplex<f32>>
    %37 = stablehlo.real %36 : (tensor<2x3x4xcomplex<f32>>) -> tensor<2x3x4xf32>
    %38 = stablehlo.imag %36 : (tensor<2x3x4xcomplex<f32>>) -> tensor<2x3x4xf32>
    %39 = stablehlo.negate %38 : tensor<2x3x4xf32>
    %40 = stablehlo.complex %37, %39 : tensor<2x3x4xcomplex<f32>>
    %41:3 = call @svd_4(%40) : (tensor<2x3x4xcomplex<f32>>) -> (tensor<2x3x3xcomplex<f32>>, tensor<2x3xf32>, tensor<2x4x4xcomplex<f32>>)
    %42:5 = stablehlo.custom_call @lapack_cgesvd_ffi(%34) {mhlo.backend_config = {mode = 83 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x3xcomplex<f32>>) -> (tensor<2x4x3xcomplex<f32>>, tensor<2x3xf32>, tensor<2x4x3xcomplex<f32>>, tensor<2x3x3xcomplex<f32>>, tensor<2xi32>)
    %43 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %44 = stablehlo.compare EQ, %42#4, %43, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %45 = stablehlo.broadcast_in_dim %44, dims = [0] : (tensor<2xi1>) -> tensor<2x1xi1>
    %46 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
    %47 = stablehlo.broadcast_in_dim %45, dims = [0, 1] : (tensor<2x1xi1>) -> tensor<2x3xi1>
    %48 = stablehlo.select %47, %42#1, %46 : tensor<2x3xi1>, tensor<2x3xf32>
    %49 = stablehlo.broadcast_in_dim %44, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %50 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<complex<f32>>) -> tensor<2x4x3xcomplex<f32>>
    %51 = stablehlo.broadcast_in_dim %49, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x4x3xi1>
    %52 = stablehlo.select %51, %42#2, %50 : tensor<2x4x3xi1>, tensor<2x4x3xcomplex<f32>>
    %53 = stablehlo.broadcast_in_dim %44, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %54 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<complex<f32>>) -> tensor<2x3x3xcomplex<f32>>
    %55 = stablehlo.broadcast_in_dim %53, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x3x3xi1>
    %56 = stablehlo.select %55, %42#3, %54 : tensor<2x3x3xi1>, tensor<2x3x3xcomplex<f32>>
    %57 = stablehlo.broadcast_in_dim %35#1, dims = [0, 2] : (tensor<2x3xf32>) -> tensor<2x1x3xf32>
    %58 = stablehlo.convert %57 : (tensor<2x1x3xf32>) -> tensor<2x1x3xcomplex<f32>>
    %59 = stablehlo.broadcast_in_dim %58, dims = [0, 1, 2] : (tensor<2x1x3xcomplex<f32>>) -> tensor<2x4x3xcomplex<f32>>
    %60 = stablehlo.multiply %35#0, %59 : tensor<2x4x3xcomplex<f32>>
    %61 = stablehlo.dot_general %60, %35#2, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x3xcomplex<f32>>, tensor<2x3x3xcomplex<f32>>) -> tensor<2x4x3xcomplex<f32>>
    %62 = call @svd_5(%33) : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4xf32>
    %63 = stablehlo.transpose %41#0, dims = [0, 2, 1] : (tensor<2x3x3xcomplex<f32>>) -> tensor<2x3x3xcomplex<f32>>
    %64 = stablehlo.real %63 : (tensor<2x3x3xcomplex<f32>>) -> tensor<2x3x3xf32>
    %65 = stablehlo.imag %63 : (tensor<2x3x3xcomplex<f32>>) -> tensor<2x3x3xf32>
    %66 = stablehlo.negate %65 : tensor<2x3x3xf32>
    %67 = stablehlo.complex %64, %66 : tensor<2x3x3xcomplex<f32>>
    %68 = stablehlo.dot_general %67, %41#0, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x3x3xcomplex<f32>>, tensor<2x3x3xcomplex<f32>>) -> tensor<2x3x3xcomplex<f32>>
    %69 = stablehlo.transpose %41#2, dims = [0, 2, 1] : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %70 = stablehlo.real %69 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %71 = stablehlo.imag %69 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %72 = stablehlo.negate %71 : tensor<2x4x4xf32>
    %73 = stablehlo.complex %70, %72 : tensor<2x4x4xcomplex<f32>>
    %74 = stablehlo.dot_general %41#2, %73, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x4xcomplex<f32>>, tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %75 = stablehlo.broadcast_in_dim %48, dims = [0, 2] : (tensor<2x3xf32>) -> tensor<2x1x3xf32>
    %76 = stablehlo.convert %75 : (tensor<2x1x3xf32>) -> tensor<2x1x3xcomplex<f32>>
    %77 = stablehlo.broadcast_in_dim %76, dims = [0, 1, 2] : (tensor<2x1x3xcomplex<f32>>) -> tensor<2x4x3xcomplex<f32>>
    %78 = stablehlo.multiply %52, %77 : tensor<2x4x3xcomplex<f32>>
    %79 = stablehlo.dot_general %78, %56, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x3xcomplex<f32>>, tensor<2x3x3xcomplex<f32>>) -> tensor<2x4x3xcomplex<f32>>
    %80 = call @_pinv_6(%34) : (tensor<2x4x3xcomplex<f32>>) -> tensor<2x3x4xcomplex<f32>>
    %81:4 = call @svd_8(%33) : (tensor<2x4x4xcomplex<f32>>) -> (tensor<2x4xf32>, tensor<2x4x4xcomplex<f32>>, tensor<2x4x4xcomplex<f32>>, tensor<4x2xi32>)
    %82 = stablehlo.abs %81#0 : tensor<2x4xf32>
    %83 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<2x4xf32>
    %84 = stablehlo.compare GE, %81#0, %83, FLOAT : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xi1>
    %85 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<2x4xf32>
    %86 = stablehlo.multiply %85, %82 : tensor<2x4xf32>
    %87 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<2x4xf32>
    %88 = stablehlo.multiply %87, %86 : tensor<2x4xf32>
    %89 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<2x4xf32>
    %90 = stablehlo.select %84, %89, %88 : tensor<2x4xi1>, tensor<2x4xf32>
    %91 = stablehlo.select %84, %88, %89 : tensor<2x4xi1>, tensor<2x4xf32>
    %92 = stablehlo.negate %90 : tensor<2x4xf32>
    %93 = stablehlo.add %91, %92 : tensor<2x4xf32>
    %94 = call @svd_9(%81#1, %81#2, %81#3, %93) : (tensor<2x4x4xcomplex<f32>>, tensor<2x4x4xcomplex<f32>>, tensor<4x2xi32>, tensor<2x4xf32>) -> tensor<2x4x4xcomplex<f32>>
    %95 = stablehlo.real %61 : (tensor<2x4x3xcomplex<f32>>) -> tensor<2x4x3xf32>
    %96 = stablehlo.imag %61 : (tensor<2x4x3xcomplex<f32>>) -> tensor<2x4x3xf32>
    %97 = stablehlo.real %68 : (tensor<2x3x3xcomplex<f32>>) -> tensor<2x3x3xf32>
    %98 = stablehlo.imag %68 : (tensor<2x3x3xcomplex<f32>>) -> tensor<2x3x3xf32>
    %99 = stablehlo.real %74 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %100 = stablehlo.imag %74 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %101 = stablehlo.real %79 : (tensor<2x4x3xcomplex<f32>>) -> tensor<2x4x3xf32>
    %102 = stablehlo.imag %79 : (tensor<2x4x3xcomplex<f32>>) -> tensor<2x4x3xf32>
    %103 = stablehlo.real %80 : (tensor<2x3x4xcomplex<f32>>) -> tensor<2x3x4xf32>
    %104 = stablehlo.imag %80 : (tensor<2x3x4xcomplex<f32>>) -> tensor<2x3x4xf32>
    %105 = stablehlo.real %94 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %106 = stablehlo.imag %94 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %107:3 = call @svd_10(%arg6) : (tensor<2x4x3xf64>) -> (tensor<2x4x3xf64>, tensor<2x3xf64>, tensor<2x3x3xf64>)
    %108 = stablehlo.transpose %arg6, dims = [0, 2, 1] : (tensor<2x4x3xf64>) -> tensor<2x3x4xf64>
    %109:3 = call @svd_11(%108) : (tensor<2x3x4xf64>) -> (tensor<2x3x3xf64>, tensor<2x3xf64>, tensor<2x4x4xf64>)
    %110:5 = stablehlo.custom_call @lapack_dgesvd_ffi(%arg6) {mhlo.backend_config = {mode = 83 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x3xf64>) -> (tensor<2x4x3xf64>, tensor<2x3xf64>, tensor<2x4x3xf64>, tensor<2x3x3xf64>, tensor<2xi32>)
    %111 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %112 = stablehlo.compare EQ, %110#4, %111, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %113 = stablehlo.broadcast_in_dim %112, dims = [0] : (tensor<2xi1>) -> tensor<2x1xi1>
    %114 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f64>) -> tensor<2x3xf64>
    %115 = stablehlo.broadcast_in_dim %113, dims = [0, 1] : (tensor<2x1xi1>) -> tensor<2x3xi1>
    %116 = stablehlo.select %115, %110#1, %114 : tensor<2x3xi1>, tensor<2x3xf64>
    %117 = stablehlo.broadcast_in_dim %112, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %118 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f64>) -> tensor<2x4x3xf64>
    %119 = stablehlo.broadcast_in_dim %117, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x4x3xi1>
    %120 = stablehlo.select %119, %110#2, %118 : tensor<2x4x3xi1>, tensor<2x4x3xf64>
    %121 = stablehlo.broadcast_in_dim %112, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %122 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f64>) -> tensor<2x3x3xf64>
    %123 = stablehlo.broadcast_in_dim %121, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x3x3xi1>
    %124 = stablehlo.select %123, %110#3, %122 : tensor<2x3x3xi1>, tensor<2x3x3xf64>
    %125 = stablehlo.broadcast_in_dim %107#1, dims = [0, 2] : (tensor<2x3xf64>) -> tensor<2x1x3xf64>
    %126 = stablehlo.broadcast_in_dim %125, dims = [0, 1, 2] : (tensor<2x1x3xf64>) -> tensor<2x4x3xf64>
    %127 = stablehlo.multiply %107#0, %126 : tensor<2x4x3xf64>
    %128 = stablehlo.dot_general %127, %107#2, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x3xf64>, tensor<2x3x3xf64>) -> tensor<2x4x3xf64>
    %129 = call @svd_12(%arg4) : (tensor<2x4x4xf64>) -> tensor<2x4xf64>
    %130 = stablehlo.transpose %109#0, dims = [0, 2, 1] : (tensor<2x3x3xf64>) -> tensor<2x3x3xf64>
    %131 = stablehlo.dot_general %130, %109#0, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x3x3xf64>, tensor<2x3x3xf64>) -> tensor<2x3x3xf64>
    %132 = stablehlo.transpose %109#2, dims = [0, 2, 1] : (tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %133 = stablehlo.dot_general %109#2, %132, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x4xf64>, tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %134 = stablehlo.broadcast_in_dim %116, dims = [0, 2] : (tensor<2x3xf64>) -> tensor<2x1x3xf64>
    %135 = stablehlo.broadcast_in_dim %134, dims = [0, 1, 2] : (tensor<2x1x3xf64>) -> tensor<2x4x3xf64>
    %136 = stablehlo.multiply %120, %135 : tensor<2x4x3xf64>
    %137 = stablehlo.dot_general %136, %124, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x3xf64>, tensor<2x3x3xf64>) -> tensor<2x4x3xf64>
    %138 = call @_pinv_13(%arg6) : (tensor<2x4x3xf64>) -> tensor<2x3x4xf64>
    %139:4 = call @svd_16(%arg4) : (tensor<2x4x4xf64>) -> (tensor<2x4xf64>, tensor<2x4x4xf64>, tensor<2x4x4xf64>, tensor<4x2xi32>)
    %140 = stablehlo.abs %139#0 : tensor<2x4xf64>
    %141 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f64>) -> tensor<2x4xf64>
    %142 = stablehlo.compare GE, %139#0, %141, FLOAT : (tensor<2x4xf64>, tensor<2x4xf64>) -> tensor<2x4xi1>
    %143 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f64>) -> tensor<2x4xf64>
    %144 = stablehlo.multiply %143, %140 : tensor<2x4xf64>
    %145 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f64>) -> tensor<2x4xf64>
    %146 = stablehlo.multiply %145, %144 : tensor<2x4xf64>
    %147 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f64>) -> tensor<2x4xf64>
    %148 = stablehlo.select %142, %147, %146 : tensor<2x4xi1>, tensor<2x4xf64>
    %149 = stablehlo.select %142, %146, %147 : tensor<2x4xi1>, tensor<2x4xf64>
    %150 = stablehlo.negate %148 : tensor<2x4xf64>
    %151 = stablehlo.add %149, %150 : tensor<2x4xf64>
    %152 = call @svd_17(%139#1, %139#2, %139#3, %151) : (tensor<2x4x4xf64>, tensor<2x4x4xf64>, tensor<4x2xi32>, tensor<2x4xf64>) -> tensor<2x4x4xf64>
    %153 = stablehlo.complex %arg4, %arg5 : tensor<2x4x4xcomplex<f64>>
    %154 = stablehlo.complex %arg6, %arg7 : tensor<2x4x3xcomplex<f64>>
    %155:3 = call @svd_18(%154) : (tensor<2x4x3xcomplex<f64>>) -> (tensor<2x4x3xcomplex<f64>>, tensor<2x3xf64>, tensor<2x3x3xcomplex<f64>>)
    %156 = stablehlo.transpose %154, dims = [0, 2, 1] : (tensor<2x4x3xcomplex<f64>>) -> tensor<2x3x4xcomplex<f64>>
    %157 = stablehlo.real %156 : (tensor<2x3x4xcomplex<f64>>) -> tensor<2x3x4xf64>
    %158 = stablehlo.imag %156 : (tensor<2x3x4xcomplex<f64>>) -> tensor<2x3x4xf64>
    %159 = stablehlo.negate %158 : tensor<2x3x4xf64>
    %160 = stablehlo.complex %157, %159 : tensor<2x3x4xcomplex<f64>>
    %161:3 = call @svd_19(%160) : (tensor<2x3x4xcomplex<f64>>) -> (tensor<2x3x3xcomplex<f64>>, tensor<2x3xf64>, tensor<2x4x4xcomplex<f64>>)
    %162:5 = stablehlo.custom_call @lapack_zgesvd_ffi(%154) {mhlo.backend_config = {mode = 83 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x3xcomplex<f64>>) -> (tensor<2x4x3xcomplex<f64>>, tensor<2x3xf64>, tensor<2x4x3xcomplex<f64>>, tensor<2x3x3xcomplex<f64>>, tensor<2xi32>)
    %163 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %164 = stablehlo.compare EQ, %162#4, %163, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %165 = stablehlo.broadcast_in_dim %164, dims = [0] : (tensor<2xi1>) -> tensor<2x1xi1>
    %166 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f64>) -> tensor<2x3xf64>
    %167 = stablehlo.broadcast_in_dim %165, dims = [0, 1] : (tensor<2x1xi1>) -> tensor<2x3xi1>
    %168 = stablehlo.select %167, %162#1, %166 : tensor<2x3xi1>, tensor<2x3xf64>
    %169 = stablehlo.broadcast_in_dim %164, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %170 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<complex<f64>>) -> tensor<2x4x3xcomplex<f64>>
    %171 = stablehlo.broadcast_in_dim %169, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x4x3xi1>
    %172 = stablehlo.select %171, %162#2, %170 : tensor<2x4x3xi1>, tensor<2x4x3xcomplex<f64>>
    %173 = stablehlo.broadcast_in_dim %164, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %174 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<complex<f64>>) -> tensor<2x3x3xcomplex<f64>>
    %175 = stablehlo.broadcast_in_dim %173, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x3x3xi1>
    %176 = stablehlo.select %175, %162#3, %174 : tensor<2x3x3xi1>, tensor<2x3x3xcomplex<f64>>
    %177 = stablehlo.broadcast_in_dim %155#1, dims = [0, 2] : (tensor<2x3xf64>) -> tensor<2x1x3xf64>
    %178 = stablehlo.convert %177 : (tensor<2x1x3xf64>) -> tensor<2x1x3xcomplex<f64>>
    %179 = stablehlo.broadcast_in_dim %178, dims = [0, 1, 2] : (tensor<2x1x3xcomplex<f64>>) -> tensor<2x4x3xcomplex<f64>>
    %180 = stablehlo.multiply %155#0, %179 : tensor<2x4x3xcomplex<f64>>
    %181 = stablehlo.dot_general %180, %155#2, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x3xcomplex<f64>>, tensor<2x3x3xcomplex<f64>>) -> tensor<2x4x3xcomplex<f64>>
    %182 = call @svd_20(%153) : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4xf64>
    %183 = stablehlo.transpose %161#0, dims = [0, 2, 1] : (tensor<2x3x3xcomplex<f64>>) -> tensor<2x3x3xcomplex<f64>>
    %184 = stablehlo.real %183 : (tensor<2x3x3xcomplex<f64>>) -> tensor<2x3x3xf64>
    %185 = stablehlo.imag %183 : (tensor<2x3x3xcomplex<f64>>) -> tensor<2x3x3xf64>
    %186 = stablehlo.negate %185 : tensor<2x3x3xf64>
    %187 = stablehlo.complex %184, %186 : tensor<2x3x3xcomplex<f64>>
    %188 = stablehlo.dot_general %187, %161#0, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x3x3xcomplex<f64>>, tensor<2x3x3xcomplex<f64>>) -> tensor<2x3x3xcomplex<f64>>
    %189 = stablehlo.transpose %161#2, dims = [0, 2, 1] : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %190 = stablehlo.real %189 : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xf64>
    %191 = stablehlo.imag %189 : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xf64>
    %192 = stablehlo.negate %191 : tensor<2x4x4xf64>
    %193 = stablehlo.complex %190, %192 : tensor<2x4x4xcomplex<f64>>
    %194 = stablehlo.dot_general %161#2, %193, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x4xcomplex<f64>>, tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %195 = stablehlo.broadcast_in_dim %168, dims = [0, 2] : (tensor<2x3xf64>) -> tensor<2x1x3xf64>
    %196 = stablehlo.convert %195 : (tensor<2x1x3xf64>) -> tensor<2x1x3xcomplex<f64>>
    %197 = stablehlo.broadcast_in_dim %196, dims = [0, 1, 2] : (tensor<2x1x3xcomplex<f64>>) -> tensor<2x4x3xcomplex<f64>>
    %198 = stablehlo.multiply %172, %197 : tensor<2x4x3xcomplex<f64>>
    %199 = stablehlo.dot_general %198, %176, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x3xcomplex<f64>>, tensor<2x3x3xcomplex<f64>>) -> tensor<2x4x3xcomplex<f64>>
    %200 = call @_pinv_21(%154) : (tensor<2x4x3xcomplex<f64>>) -> tensor<2x3x4xcomplex<f64>>
    %201 = stablehlo.slice %153 [0:0, 0:4, 0:4] : (tensor<2x4x4xcomplex<f64>>) -> tensor<0x4x4xcomplex<f64>>
    %202 = stablehlo.real %181 : (tensor<2x4x3xcomplex<f64>>) -> tensor<2x4x3xf64>
    %203 = stablehlo.imag %181 : (tensor<2x4x3xcomplex<f64>>) -> tensor<2x4x3xf64>
    %204 = stablehlo.real %188 : (tensor<2x3x3xcomplex<f64>>) -> tensor<2x3x3xf64>
    %205 = stablehlo.imag %188 : (tensor<2x3x3xcomplex<f64>>) -> tensor<2x3x3xf64>
    %206 = stablehlo.real %194 : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xf64>
    %207 = stablehlo.imag %194 : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xf64>
    %208 = stablehlo.real %199 : (tensor<2x4x3xcomplex<f64>>) -> tensor<2x4x3xf64>
    %209 = stablehlo.imag %199 : (tensor<2x4x3xcomplex<f64>>) -> tensor<2x4x3xf64>
    %210 = stablehlo.real %200 : (tensor<2x3x4xcomplex<f64>>) -> tensor<2x3x4xf64>
    %211 = stablehlo.imag %200 : (tensor<2x3x4xcomplex<f64>>) -> tensor<2x3x4xf64>
    %212 = stablehlo.real %201 : (tensor<0x4x4xcomplex<f64>>) -> tensor<0x4x4xf64>
    %213 = stablehlo.imag %201 : (tensor<0x4x4xcomplex<f64>>) -> tensor<0x4x4xf64>
    return %21, %0#1, %22, %24, %26, %9, %30, %31, %32, %95, %96, %35#1, %62, %97, %98, %99, %100, %48, %101, %102, %103, %104, %105, %106, %128, %107#1, %129, %131, %133, %116, %137, %138, %152, %202, %203, %155#1, %182, %204, %205, %206, %207, %168, %208, %209, %210, %211, %212, %213 : tensor<2x4x3xf32>, tensor<2x3xf32>, tensor<2x4xf32>, tensor<2x3x3xf32>, tensor<2x4x4xf32>, tensor<2x3xf32>, tensor<2x4x3xf32>, tensor<2x3x4xf32>, tensor<0x4x4xf32>, tensor<2x4x3xf32>, tensor<2x4x3xf32>, tensor<2x3xf32>, tensor<2x4xf32>, tensor<2x3x3xf32>, tensor<2x3x3xf32>, tensor<2x4x4xf32>, tensor<2x4x4xf32>, tensor<2x3xf32>, tensor<2x4x3xf32>, tensor<2x4x3xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x4x4xf32>, tensor<2x4x4xf32>, tensor<2x4x3xf64>, tensor<2x3xf64>, tensor<2x4xf64>, tensor<2x3x3xf64>, tensor<2x4x4xf64>, tensor<2x3xf64>, tensor<2x4x3xf64>, tensor<2x3x4xf64>, tensor<2x4x4xf64>, tensor<2x4x3xf64>, tensor<2x4x3xf64>, tensor<2x3xf64>, tensor<2x4xf64>, tensor<2x3x3xf64>, tensor<2x3x3xf64>, tensor<2x4x4xf64>, tensor<2x4x4xf64>, tensor<2x3xf64>, tensor<2x4x3xf64>, tensor<2x4x3xf64>, tensor<2x3x4xf64>, tensor<2x3x4xf64>, tensor<0x4x4xf64>, tensor<0x4x4xf64>
  }
  func.func private @svd(%arg0: tensor<2x4x3xf32>) -> (tensor<2x4x3xf32>, tensor<2x3xf32>, tensor<2x3x3xf32>) {
    %cst = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0:5 = stablehlo.custom_call @lapack_sgesdd_ffi(%arg0) {mhlo.backend_config = {mode = 83 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x3xf32>) -> (tensor<2x4x3xf32>, tensor<2x3xf32>, tensor<2x4x3xf32>, tensor<2x3x3xf32>, tensor<2xi32>)
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %2 = stablehlo.compare EQ, %0#4, %1, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<2xi1>) -> tensor<2x1xi1>
    %4 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
    %5 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<2x1xi1>) -> tensor<2x3xi1>
    %6 = stablehlo.select %5, %0#1, %4 : tensor<2x3xi1>, tensor<2x3xf32>
    %7 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %8 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x4x3xf32>
    %9 = stablehlo.broadcast_in_dim %7, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x4x3xi1>
    %10 = stablehlo.select %9, %0#2, %8 : tensor<2x4x3xi1>, tensor<2x4x3xf32>
    %11 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %12 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x3x3xf32>
    %13 = stablehlo.broadcast_in_dim %11, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x3x3xi1>
    %14 = stablehlo.select %13, %0#3, %12 : tensor<2x3x3xi1>, tensor<2x3x3xf32>
    return %10, %6, %14 : tensor<2x4x3xf32>, tensor<2x3xf32>, tensor<2x3x3xf32>
  }
  func.func private @svd_0(%arg0: tensor<2x3x4xf32>) -> (tensor<2x3x3xf32>, tensor<2x3xf32>, tensor<2x4x4xf32>) {
    %cst = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0:5 = stablehlo.custom_call @lapack_sgesdd_ffi(%arg0) {mhlo.backend_config = {mode = 65 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x3x4xf32>) -> (tensor<2x3x4xf32>, tensor<2x3xf32>, tensor<2x3x3xf32>, tensor<2x4x4xf32>, tensor<2xi32>)
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %2 = stablehlo.compare EQ, %0#4, %1, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<2xi1>) -> tensor<2x1xi1>
    %4 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
    %5 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<2x1xi1>) -> tensor<2x3xi1>
    %6 = stablehlo.select %5, %0#1, %4 : tensor<2x3xi1>, tensor<2x3xf32>
    %7 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %8 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x3x3xf32>
    %9 = stablehlo.broadcast_in_dim %7, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x3x3xi1>
    %10 = stablehlo.select %9, %0#2, %8 : tensor<2x3x3xi1>, tensor<2x3x3xf32>
    %11 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %12 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x4x4xf32>
    %13 = stablehlo.broadcast_in_dim %11, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x4x4xi1>
    %14 = stablehlo.select %13, %0#3, %12 : tensor<2x4x4xi1>, tensor<2x4x4xf32>
    return %10, %6, %14 : tensor<2x3x3xf32>, tensor<2x3xf32>, tensor<2x4x4xf32>
  }
  func.func private @svd_1(%arg0: tensor<2x4x4xf32>) -> tensor<2x4xf32> {
    %cst = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0:5 = stablehlo.custom_call @lapack_sgesdd_ffi(%arg0) {mhlo.backend_config = {mode = 78 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x4xf32>) -> (tensor<2x4x4xf32>, tensor<2x4xf32>, tensor<2x4x4xf32>, tensor<2x4x4xf32>, tensor<2xi32>)
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %2 = stablehlo.compare EQ, %0#4, %1, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<2xi1>) -> tensor<2x1xi1>
    %4 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x4xf32>
    %5 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<2x1xi1>) -> tensor<2x4xi1>
    %6 = stablehlo.select %5, %0#1, %4 : tensor<2x4xi1>, tensor<2x4xf32>
    return %6 : tensor<2x4xf32>
  }
  func.func private @_pinv(%arg0: tensor<2x4x3xf32>) -> tensor<2x3x4xf32> {
    %cst = stablehlo.constant dense<0x7FF0000000000000> : tensor<f64>
    %cst_0 = stablehlo.constant dense<4.000000e+01> : tensor<f32>
    %cst_1 = stablehlo.constant dense<1.1920929E-7> : tensor<f32>
    %0 = stablehlo.multiply %cst_0, %cst_1 : tensor<f32>
    %1:3 = call @svd_2(%arg0) : (tensor<2x4x3xf32>) -> (tensor<2x4x3xf32>, tensor<2x3xf32>, tensor<2x3x3xf32>)
    %2 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<1xf32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [1] : (tensor<1xf32>) -> tensor<1x1xf32>
    %4 = stablehlo.slice %1#1 [0:2, 0:1] : (tensor<2x3xf32>) -> tensor<2x1xf32>
    %5 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<1x1xf32>) -> tensor<2x1xf32>
    %6 = stablehlo.multiply %5, %4 : tensor<2x1xf32>
    %7 = stablehlo.broadcast_in_dim %6, dims = [0, 1] : (tensor<2x1xf32>) -> tensor<2x3xf32>
    %8 = stablehlo.compare GT, %1#1, %7, FLOAT : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
    %9 = call @_where(%8, %1#1, %cst) : (tensor<2x3xi1>, tensor<2x3xf32>, tensor<f64>) -> tensor<2x3xf32>
    %10 = stablehlo.transpose %1#2, dims = [0, 2, 1] : (tensor<2x3x3xf32>) -> tensor<2x3x3xf32>
    %11 = stablehlo.transpose %1#0, dims = [0, 2, 1] : (tensor<2x4x3xf32>) -> tensor<2x3x4xf32>
    %12 = stablehlo.broadcast_in_dim %9, dims = [0, 1] : (tensor<2x3xf32>) -> tensor<2x3x1xf32>
    %13 = stablehlo.broadcast_in_dim %12, dims = [0, 1, 2] : (tensor<2x3x1xf32>) -> tensor<2x3x4xf32>
    %14 = stablehlo.divide %11, %13 : tensor<2x3x4xf32>
    %15 = stablehlo.dot_general %10, %14, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [HIGHEST, HIGHEST] : (tensor<2x3x3xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
    return %15 : tensor<2x3x4xf32>
  }
  func.func private @svd_2(%arg0: tensor<2x4x3xf32>) -> (tensor<2x4x3xf32>, tensor<2x3xf32>, tensor<2x3x3xf32>) {
    %cst = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0:5 = stablehlo.custom_call @lapack_sgesdd_ffi(%arg0) {mhlo.backend_config = {mode = 83 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x3xf32>) -> (tensor<2x4x3xf32>, tensor<2x3xf32>, tensor<2x4x3xf32>, tensor<2x3x3xf32>, tensor<2xi32>)
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %2 = stablehlo.compare EQ, %0#4, %1, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<2xi1>) -> tensor<2x1xi1>
    %4 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
    %5 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<2x1xi1>) -> tensor<2x3xi1>
    %6 = stablehlo.select %5, %0#1, %4 : tensor<2x3xi1>, tensor<2x3xf32>
    %7 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %8 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x4x3xf32>
    %9 = stablehlo.broadcast_in_dim %7, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x4x3xi1>
    %10 = stablehlo.select %9, %0#2, %8 : tensor<2x4x3xi1>, tensor<2x4x3xf32>
    %11 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %12 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x3x3xf32>
    %13 = stablehlo.broadcast_in_dim %11, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x3x3xi1>
    %14 = stablehlo.select %13, %0#3, %12 : tensor<2x3x3xi1>, tensor<2x3x3xf32>
    return %10, %6, %14 : tensor<2x4x3xf32>, tensor<2x3xf32>, tensor<2x3x3xf32>
  }
  func.func private @_where(%arg0: tensor<2x3xi1>, %arg1: tensor<2x3xf32>, %arg2: tensor<f64>) -> tensor<2x3xf32> {
    %0 = stablehlo.convert %arg2 : (tensor<f64>) -> tensor<f32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
    %2 = stablehlo.select %arg0, %arg1, %1 : tensor<2x3xi1>, tensor<2x3xf32>
    return %2 : tensor<2x3xf32>
  }
  func.func private @svd_3(%arg0: tensor<2x4x3xcomplex<f32>>) -> (tensor<2x4x3xcomplex<f32>>, tensor<2x3xf32>, tensor<2x3x3xcomplex<f32>>) {
    %cst = stablehlo.constant dense<(0x7FC00000,0x7FC00000)> : tensor<complex<f32>>
    %cst_0 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0:5 = stablehlo.custom_call @lapack_cgesdd_ffi(%arg0) {mhlo.backend_config = {mode = 83 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x3xcomplex<f32>>) -> (tensor<2x4x3xcomplex<f32>>, tensor<2x3xf32>, tensor<2x4x3xcomplex<f32>>, tensor<2x3x3xcomplex<f32>>, tensor<2xi32>)
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %2 = stablehlo.compare EQ, %0#4, %1, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<2xi1>) -> tensor<2x1xi1>
    %4 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
    %5 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<2x1xi1>) -> tensor<2x3xi1>
    %6 = stablehlo.select %5, %0#1, %4 : tensor<2x3xi1>, tensor<2x3xf32>
    %7 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %8 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<complex<f32>>) -> tensor<2x4x3xcomplex<f32>>
    %9 = stablehlo.broadcast_in_dim %7, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x4x3xi1>
    %10 = stablehlo.select %9, %0#2, %8 : tensor<2x4x3xi1>, tensor<2x4x3xcomplex<f32>>
    %11 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %12 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<complex<f32>>) -> tensor<2x3x3xcomplex<f32>>
    %13 = stablehlo.broadcast_in_dim %11, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x3x3xi1>
    %14 = stablehlo.select %13, %0#3, %12 : tensor<2x3x3xi1>, tensor<2x3x3xcomplex<f32>>
    return %10, %6, %14 : tensor<2x4x3xcomplex<f32>>, tensor<2x3xf32>, tensor<2x3x3xcomplex<f32>>
  }
  func.func private @svd_4(%arg0: tensor<2x3x4xcomplex<f32>>) -> (tensor<2x3x3xcomplex<f32>>, tensor<2x3xf32>, tensor<2x4x4xcomplex<f32>>) {
    %cst = stablehlo.constant dense<(0x7FC00000,0x7FC00000)> : tensor<complex<f32>>
    %cst_0 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0:5 = stablehlo.custom_call @lapack_cgesdd_ffi(%arg0) {mhlo.backend_config = {mode = 65 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x3x4xcomplex<f32>>) -> (tensor<2x3x4xcomplex<f32>>, tensor<2x3xf32>, tensor<2x3x3xcomplex<f32>>, tensor<2x4x4xcomplex<f32>>, tensor<2xi32>)
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %2 = stablehlo.compare EQ, %0#4, %1, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<2xi1>) -> tensor<2x1xi1>
    %4 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
    %5 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<2x1xi1>) -> tensor<2x3xi1>
    %6 = stablehlo.select %5, %0#1, %4 : tensor<2x3xi1>, tensor<2x3xf32>
    %7 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %8 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<complex<f32>>) -> tensor<2x3x3xcomplex<f32>>
    %9 = stablehlo.broadcast_in_dim %7, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x3x3xi1>
    %10 = stablehlo.select %9, %0#2, %8 : tensor<2x3x3xi1>, tensor<2x3x3xcomplex<f32>>
    %11 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %12 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<complex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %13 = stablehlo.broadcast_in_dim %11, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x4x4xi1>
    %14 = stablehlo.select %13, %0#3, %12 : tensor<2x4x4xi1>, tensor<2x4x4xcomplex<f32>>
    return %10, %6, %14 : tensor<2x3x3xcomplex<f32>>, tensor<2x3xf32>, tensor<2x4x4xcomplex<f32>>
  }
  func.func private @svd_5(%arg0: tensor<2x4x4xcomplex<f32>>) -> tensor<2x4xf32> {
    %cst = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0:5 = stablehlo.custom_call @lapack_cgesdd_ffi(%arg0) {mhlo.backend_config = {mode = 78 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x4xcomplex<f32>>) -> (tensor<2x4x4xcomplex<f32>>, tensor<2x4xf32>, tensor<2x4x4xcomplex<f32>>, tensor<2x4x4xcomplex<f32>>, tensor<2xi32>)
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %2 = stablehlo.compare EQ, %0#4, %1, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<2xi1>) -> tensor<2x1xi1>
    %4 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x4xf32>
    %5 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<2x1xi1>) -> tensor<2x4xi1>
    %6 = stablehlo.select %5, %0#1, %4 : tensor<2x4xi1>, tensor<2x4xf32>
    return %6 : tensor<2x4xf32>
  }
  func.func private @_pinv_6(%arg0: tensor<2x4x3xcomplex<f32>>) -> tensor<2x3x4xcomplex<f32>> {
    %cst = stablehlo.constant dense<0x7FF0000000000000> : tensor<f64>
    %cst_0 = stablehlo.constant dense<1.1920929E-7> : tensor<f32>
    %cst_1 = stablehlo.constant dense<4.000000e+01> : tensor<f32>
    %0 = stablehlo.real %arg0 : (tensor<2x4x3xcomplex<f32>>) -> tensor<2x4x3xf32>
    %1 = stablehlo.imag %arg0 : (tensor<2x4x3xcomplex<f32>>) -> tensor<2x4x3xf32>
    %2 = stablehlo.negate %1 : tensor<2x4x3xf32>
    %3 = stablehlo.complex %0, %2 : tensor<2x4x3xcomplex<f32>>
    %4 = stablehlo.multiply %cst_1, %cst_0 : tensor<f32>
    %5:3 = call @svd_7(%3) : (tensor<2x4x3xcomplex<f32>>) -> (tensor<2x4x3xcomplex<f32>>, tensor<2x3xf32>, tensor<2x3x3xcomplex<f32>>)
    %6 = stablehlo.broadcast_in_dim %4, dims = [] : (tensor<f32>) -> tensor<1xf32>
    %7 = stablehlo.broadcast_in_dim %6, dims = [1] : (tensor<1xf32>) -> tensor<1x1xf32>
    %8 = stablehlo.slice %5#1 [0:2, 0:1] : (tensor<2x3xf32>) -> tensor<2x1xf32>
    %9 = stablehlo.broadcast_in_dim %7, dims = [0, 1] : (tensor<1x1xf32>) -> tensor<2x1xf32>
    %10 = stablehlo.multiply %9, %8 : tensor<2x1xf32>
    %11 = stablehlo.broadcast_in_dim %10, dims = [0, 1] : (tensor<2x1xf32>) -> tensor<2x3xf32>
    %12 = stablehlo.compare GT, %5#1, %11, FLOAT : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
    %13 = call @_where(%12, %5#1, %cst) : (tensor<2x3xi1>, tensor<2x3xf32>, tensor<f64>) -> tensor<2x3xf32>
    %14 = stablehlo.convert %13 : (tensor<2x3xf32>) -> tensor<2x3xcomplex<f32>>
    %15 = stablehlo.transpose %5#2, dims = [0, 2, 1] : (tensor<2x3x3xcomplex<f32>>) -> tensor<2x3x3xcomplex<f32>>
    %16 = stablehlo.transpose %5#0, dims = [0, 2, 1] : (tensor<2x4x3xcomplex<f32>>) -> tensor<2x3x4xcomplex<f32>>
    %17 = stablehlo.broadcast_in_dim %14, dims = [0, 1] : (tensor<2x3xcomplex<f32>>) -> tensor<2x3x1xcomplex<f32>>
    %18 = stablehlo.broadcast_in_dim %17, dims = [0, 1, 2] : (tensor<2x3x1xcomplex<f32>>) -> tensor<2x3x4xcomplex<f32>>
    %19 = stablehlo.divide %16, %18 : tensor<2x3x4xcomplex<f32>>
    %20 = stablehlo.dot_general %15, %19, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [HIGHEST, HIGHEST] : (tensor<2x3x3xcomplex<f32>>, tensor<2x3x4xcomplex<f32>>) -> tensor<2x3x4xcomplex<f32>>
    return %20 : tensor<2x3x4xcomplex<f32>>
  }
  func.func private @svd_7(%arg0: tensor<2x4x3xcomplex<f32>>) -> (tensor<2x4x3xcomplex<f32>>, tensor<2x3xf32>, tensor<2x3x3xcomplex<f32>>) {
    %cst = stablehlo.constant dense<(0x7FC00000,0x7FC00000)> : tensor<complex<f32>>
    %cst_0 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0:5 = stablehlo.custom_call @lapack_cgesdd_ffi(%arg0) {mhlo.backend_config = {mode = 83 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x3xcomplex<f32>>) -> (tensor<2x4x3xcomplex<f32>>, tensor<2x3xf32>, tensor<2x4x3xcomplex<f32>>, tensor<2x3x3xcomplex<f32>>, tensor<2xi32>)
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %2 = stablehlo.compare EQ, %0#4, %1, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<2xi1>) -> tensor<2x1xi1>
    %4 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
    %5 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<2x1xi1>) -> tensor<2x3xi1>
    %6 = stablehlo.select %5, %0#1, %4 : tensor<2x3xi1>, tensor<2x3xf32>
    %7 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %8 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<complex<f32>>) -> tensor<2x4x3xcomplex<f32>>
    %9 = stablehlo.broadcast_in_dim %7, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x4x3xi1>
    %10 = stablehlo.select %9, %0#2, %8 : tensor<2x4x3xi1>, tensor<2x4x3xcomplex<f32>>
    %11 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %12 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<complex<f32>>) -> tensor<2x3x3xcomplex<f32>>
    %13 = stablehlo.broadcast_in_dim %11, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x3x3xi1>
    %14 = stablehlo.select %13, %0#3, %12 : tensor<2x3x3xi1>, tensor<2x3x3xcomplex<f32>>
    return %10, %6, %14 : tensor<2x4x3xcomplex<f32>>, tensor<2x3xf32>, tensor<2x3x3xcomplex<f32>>
  }
  func.func private @svd_8(%arg0: tensor<2x4x4xcomplex<f32>>) -> (tensor<2x4xf32>, tensor<2x4x4xcomplex<f32>>, tensor<2x4x4xcomplex<f32>>, tensor<4x2xi32>) {
    %c = stablehlo.constant dense<4> : tensor<i32>
    %cst = stablehlo.constant dense<(0x7FC00000,0x7FC00000)> : tensor<complex<f32>>
    %cst_0 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %0:5 = stablehlo.custom_call @lapack_cgesdd_ffi(%arg0) {mhlo.backend_config = {mode = 83 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x4xcomplex<f32>>) -> (tensor<2x4x4xcomplex<f32>>, tensor<2x4xf32>, tensor<2x4x4xcomplex<f32>>, tensor<2x4x4xcomplex<f32>>, tensor<2xi32>)
    %1 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %2 = stablehlo.compare EQ, %0#4, %1, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<2xi1>) -> tensor<2x1xi1>
    %4 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<2x4xf32>
    %5 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<2x1xi1>) -> tensor<2x4xi1>
    %6 = stablehlo.select %5, %0#1, %4 : tensor<2x4xi1>, tensor<2x4xf32>
    %7 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %8 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<complex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %9 = stablehlo.broadcast_in_dim %7, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x4x4xi1>
    %10 = stablehlo.select %9, %0#2, %8 : tensor<2x4x4xi1>, tensor<2x4x4xcomplex<f32>>
    %11 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %12 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<complex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %13 = stablehlo.broadcast_in_dim %11, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x4x4xi1>
    %14 = stablehlo.select %13, %0#3, %12 : tensor<2x4x4xi1>, tensor<2x4x4xcomplex<f32>>
    %15 = stablehlo.transpose %10, dims = [0, 2, 1] : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %16 = stablehlo.real %15 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %17 = stablehlo.imag %15 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %18 = stablehlo.negate %17 : tensor<2x4x4xf32>
    %19 = stablehlo.complex %16, %18 : tensor<2x4x4xcomplex<f32>>
    %20 = stablehlo.transpose %14, dims = [0, 2, 1] : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %21 = stablehlo.real %20 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %22 = stablehlo.imag %20 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %23 = stablehlo.negate %22 : tensor<2x4x4xf32>
    %24 = stablehlo.complex %21, %23 : tensor<2x4x4xcomplex<f32>>
    %25 = stablehlo.iota dim = 0 : tensor<4xi32>
    %26 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<i32>) -> tensor<4xi32>
    %27 = stablehlo.compare LT, %25, %26, SIGNED : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
    %28 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<4xi32>
    %29 = stablehlo.add %25, %28 : tensor<4xi32>
    %30 = stablehlo.select %27, %29, %25 : tensor<4xi1>, tensor<4xi32>
    %31 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<i32>) -> tensor<4xi32>
    %32 = stablehlo.compare LT, %25, %31, SIGNED : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
    %33 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<4xi32>
    %34 = stablehlo.add %25, %33 : tensor<4xi32>
    %35 = stablehlo.select %32, %34, %25 : tensor<4xi1>, tensor<4xi32>
    %36 = stablehlo.broadcast_in_dim %30, dims = [0] : (tensor<4xi32>) -> tensor<4x1xi32>
    %37 = stablehlo.broadcast_in_dim %35, dims = [0] : (tensor<4xi32>) -> tensor<4x1xi32>
    %38 = stablehlo.concatenate %36, %37, dim = 1 : (tensor<4x1xi32>, tensor<4x1xi32>) -> tensor<4x2xi32>
    return %6, %19, %24, %38 : tensor<2x4xf32>, tensor<2x4x4xcomplex<f32>>, tensor<2x4x4xcomplex<f32>>, tensor<4x2xi32>
  }
  func.func private @svd_9(%arg0: tensor<2x4x4xcomplex<f32>>, %arg1: tensor<2x4x4xcomplex<f32>>, %arg2: tensor<4x2xi32>, %arg3: tensor<2x4xf32>) -> tensor<2x4x4xcomplex<f32>> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x4x4xf32>
    %1 = "stablehlo.scatter"(%0, %arg2, %arg3) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [1, 2], scatter_dims_to_operand_dims = [1, 2], index_vector_dim = 1>}> ({
    ^bb0(%arg4: tensor<f32>, %arg5: tensor<f32>):
      %7 = stablehlo.add %arg4, %arg5 : tensor<f32>
      stablehlo.return %7 : tensor<f32>
    }) : (tensor<2x4x4xf32>, tensor<4x2xi32>, tensor<2x4xf32>) -> tensor<2x4x4xf32>
    %2 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x4x4xf32>
    %3 = stablehlo.complex %1, %2 : tensor<2x4x4xcomplex<f32>>
    %4 = stablehlo.dot_general %3, %arg1, batching_dims = [0] x [0], contracting_dims = [2] x [2], precision = [HIGHEST, HIGHEST] : (tensor<2x4x4xcomplex<f32>>, tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %5 = stablehlo.dot_general %4, %arg0, batching_dims = [0] x [0], contracting_dims = [1] x [1], precision = [HIGHEST, HIGHEST] : (tensor<2x4x4xcomplex<f32>>, tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %6 = stablehlo.transpose %5, dims = [0, 2, 1] : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    return %6 : tensor<2x4x4xcomplex<f32>>
  }
  func.func private @svd_10(%arg0: tensor<2x4x3xf64>) -> (tensor<2x4x3xf64>, tensor<2x3xf64>, tensor<2x3x3xf64>) {
    %cst = stablehlo.constant dense<0x7FF8000000000000> : tensor<f64>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0:5 = stablehlo.custom_call @lapack_dgesdd_ffi(%arg0) {mhlo.backend_config = {mode = 83 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x3xf64>) -> (tensor<2x4x3xf64>, tensor<2x3xf64>, tensor<2x4x3xf64>, tensor<2x3x3xf64>, tensor<2xi32>)
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %2 = stablehlo.compare EQ, %0#4, %1, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<2xi1>) -> tensor<2x1xi1>
    %4 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<2x3xf64>
    %5 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<2x1xi1>) -> tensor<2x3xi1>
    %6 = stablehlo.select %5, %0#1, %4 : tensor<2x3xi1>, tensor<2x3xf64>
    %7 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %8 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<2x4x3xf64>
    %9 = stablehlo.broadcast_in_dim %7, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x4x3xi1>
    %10 = stablehlo.select %9, %0#2, %8 : tensor<2x4x3xi1>, tensor<2x4x3xf64>
    %11 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %12 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<2x3x3xf64>
    %13 = stablehlo.broadcast_in_dim %11, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x3x3xi1>
    %14 = stablehlo.select %13, %0#3, %12 : tensor<2x3x3xi1>, tensor<2x3x3xf64>
    return %10, %6, %14 : tensor<2x4x3xf64>, tensor<2x3xf64>, tensor<2x3x3xf64>
  }
  func.func private @svd_11(%arg0: tensor<2x3x4xf64>) -> (tensor<2x3x3xf64>, tensor<2x3xf64>, tensor<2x4x4xf64>) {
    %cst = stablehlo.constant dense<0x7FF8000000000000> : tensor<f64>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0:5 = stablehlo.custom_call @lapack_dgesdd_ffi(%arg0) {mhlo.backend_config = {mode = 65 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x3x4xf64>) -> (tensor<2x3x4xf64>, tensor<2x3xf64>, tensor<2x3x3xf64>, tensor<2x4x4xf64>, tensor<2xi32>)
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %2 = stablehlo.compare EQ, %0#4, %1, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<2xi1>) -> tensor<2x1xi1>
    %4 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<2x3xf64>
    %5 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<2x1xi1>) -> tensor<2x3xi1>
    %6 = stablehlo.select %5, %0#1, %4 : tensor<2x3xi1>, tensor<2x3xf64>
    %7 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %8 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<2x3x3xf64>
    %9 = stablehlo.broadcast_in_dim %7, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x3x3xi1>
    %10 = stablehlo.select %9, %0#2, %8 : tensor<2x3x3xi1>, tensor<2x3x3xf64>
    %11 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %12 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<2x4x4xf64>
    %13 = stablehlo.broadcast_in_dim %11, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x4x4xi1>
    %14 = stablehlo.select %13, %0#3, %12 : tensor<2x4x4xi1>, tensor<2x4x4xf64>
    return %10, %6, %14 : tensor<2x3x3xf64>, tensor<2x3xf64>, tensor<2x4x4xf64>
  }
  func.func private @svd_12(%arg0: tensor<2x4x4xf64>) -> tensor<2x4xf64> {
    %cst = stablehlo.constant dense<0x7FF8000000000000> : tensor<f64>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0:5 = stablehlo.custom_call @lapack_dgesdd_ffi(%arg0) {mhlo.backend_config = {mode = 78 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x4xf64>) -> (tensor<2x4x4xf64>, tensor<2x4xf64>, tensor<2x4x4xf64>, tensor<2x4x4xf64>, tensor<2xi32>)
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %2 = stablehlo.compare EQ, %0#4, %1, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<2xi1>) -> tensor<2x1xi1>
    %4 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<2x4xf64>
    %5 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<2x1xi1>) -> tensor<2x4xi1>
    %6 = stablehlo.select %5, %0#1, %4 : tensor<2x4xi1>, tensor<2x4xf64>
    return %6 : tensor<2x4xf64>
  }
  func.func private @_pinv_13(%arg0: tensor<2x4x3xf64>) -> tensor<2x3x4xf64> {
    %cst = stablehlo.constant dense<0x7FF0000000000000> : tensor<f64>
    %cst_0 = stablehlo.constant dense<4.000000e+01> : tensor<f64>
    %cst_1 = stablehlo.constant dense<2.2204460492503131E-16> : tensor<f64>
    %0 = stablehlo.multiply %cst_0, %cst_1 : tensor<f64>
    %1:3 = call @svd_14(%arg0) : (tensor<2x4x3xf64>) -> (tensor<2x4x3xf64>, tensor<2x3xf64>, tensor<2x3x3xf64>)
    %2 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f64>) -> tensor<1xf64>
    %3 = stablehlo.broadcast_in_dim %2, dims = [1] : (tensor<1xf64>) -> tensor<1x1xf64>
    %4 = stablehlo.slice %1#1 [0:2, 0:1] : (tensor<2x3xf64>) -> tensor<2x1xf64>
    %5 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<1x1xf64>) -> tensor<2x1xf64>
    %6 = stablehlo.multiply %5, %4 : tensor<2x1xf64>
    %7 = stablehlo.broadcast_in_dim %6, dims = [0, 1] : (tensor<2x1xf64>) -> tensor<2x3xf64>
    %8 = stablehlo.compare GT, %1#1, %7, FLOAT : (tensor<2x3xf64>, tensor<2x3xf64>) -> tensor<2x3xi1>
    %9 = call @_where_15(%8, %1#1, %cst) : (tensor<2x3xi1>, tensor<2x3xf64>, tensor<f64>) -> tensor<2x3xf64>
    %10 = stablehlo.transpose %1#2, dims = [0, 2, 1] : (tensor<2x3x3xf64>) -> tensor<2x3x3xf64>
    %11 = stablehlo.transpose %1#0, dims = [0, 2, 1] : (tensor<2x4x3xf64>) -> tensor<2x3x4xf64>
    %12 = stablehlo.broadcast_in_dim %9, dims = [0, 1] : (tensor<2x3xf64>) -> tensor<2x3x1xf64>
    %13 = stablehlo.broadcast_in_dim %12, dims = [0, 1, 2] : (tensor<2x3x1xf64>) -> tensor<2x3x4xf64>
    %14 = stablehlo.divide %11, %13 : tensor<2x3x4xf64>
    %15 = stablehlo.dot_general %10, %14, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [HIGHEST, HIGHEST] : (tensor<2x3x3xf64>, tensor<2x3x4xf64>) -> tensor<2x3x4xf64>
    return %15 : tensor<2x3x4xf64>
  }
  func.func private @svd_14(%arg0: tensor<2x4x3xf64>) -> (tensor<2x4x3xf64>, tensor<2x3xf64>, tensor<2x3x3xf64>) {
    %cst = stablehlo.constant dense<0x7FF8000000000000> : tensor<f64>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0:5 = stablehlo.custom_call @lapack_dgesdd_ffi(%arg0) {mhlo.backend_config = {mode = 83 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x3xf64>) -> (tensor<2x4x3xf64>, tensor<2x3xf64>, tensor<2x4x3xf64>, tensor<2x3x3xf64>, tensor<2xi32>)
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %2 = stablehlo.compare EQ, %0#4, %1, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<2xi1>) -> tensor<2x1xi1>
    %4 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<2x3xf64>
    %5 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<2x1xi1>) -> tensor<2x3xi1>
    %6 = stablehlo.select %5, %0#1, %4 : tensor<2x3xi1>, tensor<2x3xf64>
    %7 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %8 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<2x4x3xf64>
    %9 = stablehlo.broadcast_in_dim %7, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x4x3xi1>
    %10 = stablehlo.select %9, %0#2, %8 : tensor<2x4x3xi1>, tensor<2x4x3xf64>
    %11 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %12 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<2x3x3xf64>
    %13 = stablehlo.broadcast_in_dim %11, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x3x3xi1>
    %14 = stablehlo.select %13, %0#3, %12 : tensor<2x3x3xi1>, tensor<2x3x3xf64>
    return %10, %6, %14 : tensor<2x4x3xf64>, tensor<2x3xf64>, tensor<2x3x3xf64>
  }
  func.func private @_where_15(%arg0: tensor<2x3xi1>, %arg1: tensor<2x3xf64>, %arg2: tensor<f64>) -> tensor<2x3xf64> {
    %0 = stablehlo.convert %arg2 : tensor<f64>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f64>) -> tensor<2x3xf64>
    %2 = stablehlo.select %arg0, %arg1, %1 : tensor<2x3xi1>, tensor<2x3xf64>
    return %2 : tensor<2x3xf64>
  }
  func.func private @svd_16(%arg0: tensor<2x4x4xf64>) -> (tensor<2x4xf64>, tensor<2x4x4xf64>, tensor<2x4x4xf64>, tensor<4x2xi32>) {
    %c = stablehlo.constant dense<4> : tensor<i32>
    %cst = stablehlo.constant dense<0x7FF8000000000000> : tensor<f64>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %0:5 = stablehlo.custom_call @lapack_dgesdd_ffi(%arg0) {mhlo.backend_config = {mode = 83 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x4xf64>) -> (tensor<2x4x4xf64>, tensor<2x4xf64>, tensor<2x4x4xf64>, tensor<2x4x4xf64>, tensor<2xi32>)
    %1 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %2 = stablehlo.compare EQ, %0#4, %1, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<2xi1>) -> tensor<2x1xi1>
    %4 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<2x4xf64>
    %5 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<2x1xi1>) -> tensor<2x4xi1>
    %6 = stablehlo.select %5, %0#1, %4 : tensor<2x4xi1>, tensor<2x4xf64>
    %7 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %8 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<2x4x4xf64>
    %9 = stablehlo.broadcast_in_dim %7, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x4x4xi1>
    %10 = stablehlo.select %9, %0#2, %8 : tensor<2x4x4xi1>, tensor<2x4x4xf64>
    %11 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %12 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<2x4x4xf64>
    %13 = stablehlo.broadcast_in_dim %11, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x4x4xi1>
    %14 = stablehlo.select %13, %0#3, %12 : tensor<2x4x4xi1>, tensor<2x4x4xf64>
    %15 = stablehlo.transpose %10, dims = [0, 2, 1] : (tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %16 = stablehlo.transpose %14, dims = [0, 2, 1] : (tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %17 = stablehlo.iota dim = 0 : tensor<4xi32>
    %18 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<4xi32>
    %19 = stablehlo.compare LT, %17, %18, SIGNED : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
    %20 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<4xi32>
    %21 = stablehlo.add %17, %20 : tensor<4xi32>
    %22 = stablehlo.select %19, %21, %17 : tensor<4xi1>, tensor<4xi32>
    %23 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<4xi32>
    %24 = stablehlo.compare LT, %17, %23, SIGNED : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
    %25 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<4xi32>
    %26 = stablehlo.add %17, %25 : tensor<4xi32>
    %27 = stablehlo.select %24, %26, %17 : tensor<4xi1>, tensor<4xi32>
    %28 = stablehlo.broadcast_in_dim %22, dims = [0] : (tensor<4xi32>) -> tensor<4x1xi32>
    %29 = stablehlo.broadcast_in_dim %27, dims = [0] : (tensor<4xi32>) -> tensor<4x1xi32>
    %30 = stablehlo.concatenate %28, %29, dim = 1 : (tensor<4x1xi32>, tensor<4x1xi32>) -> tensor<4x2xi32>
    return %6, %15, %16, %30 : tensor<2x4xf64>, tensor<2x4x4xf64>, tensor<2x4x4xf64>, tensor<4x2xi32>
  }
  func.func private @svd_17(%arg0: tensor<2x4x4xf64>, %arg1: tensor<2x4x4xf64>, %arg2: tensor<4x2xi32>, %arg3: tensor<2x4xf64>) -> tensor<2x4x4xf64> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<2x4x4xf64>
    %1 = "stablehlo.scatter"(%0, %arg2, %arg3) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [1, 2], scatter_dims_to_operand_dims = [1, 2], index_vector_dim = 1>}> ({
    ^bb0(%arg4: tensor<f64>, %arg5: tensor<f64>):
      %5 = stablehlo.add %arg4, %arg5 : tensor<f64>
      stablehlo.return %5 : tensor<f64>
    }) : (tensor<2x4x4xf64>, tensor<4x2xi32>, tensor<2x4xf64>) -> tensor<2x4x4xf64>
    %2 = stablehlo.dot_general %1, %arg1, batching_dims = [0] x [0], contracting_dims = [2] x [2], precision = [HIGHEST, HIGHEST] : (tensor<2x4x4xf64>, tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %3 = stablehlo.dot_general %2, %arg0, batching_dims = [0] x [0], contracting_dims = [1] x [1], precision = [HIGHEST, HIGHEST] : (tensor<2x4x4xf64>, tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %4 = stablehlo.transpose %3, dims = [0, 2, 1] : (tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    return %4 : tensor<2x4x4xf64>
  }
  func.func private @svd_18(%arg0: tensor<2x4x3xcomplex<f64>>) -> (tensor<2x4x3xcomplex<f64>>, tensor<2x3xf64>, tensor<2x3x3xcomplex<f64>>) {
    %cst = stablehlo.constant dense<(0x7FF8000000000000,0x7FF8000000000000)> : tensor<complex<f64>>
    %cst_0 = stablehlo.constant dense<0x7FF8000000000000> : tensor<f64>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0:5 = stablehlo.custom_call @lapack_zgesdd_ffi(%arg0) {mhlo.backend_config = {mode = 83 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x3xcomplex<f64>>) -> (tensor<2x4x3xcomplex<f64>>, tensor<2x3xf64>, tensor<2x4x3xcomplex<f64>>, tensor<2x3x3xcomplex<f64>>, tensor<2xi32>)
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %2 = stablehlo.compare EQ, %0#4, %1, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<2xi1>) -> tensor<2x1xi1>
    %4 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f64>) -> tensor<2x3xf64>
    %5 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<2x1xi1>) -> tensor<2x3xi1>
    %6 = stablehlo.select %5, %0#1, %4 : tensor<2x3xi1>, tensor<2x3xf64>
    %7 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %8 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<complex<f64>>) -> tensor<2x4x3xcomplex<f64>>
    %9 = stablehlo.broadcast_in_dim %7, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x4x3xi1>
    %10 = stablehlo.select %9, %0#2, %8 : tensor<2x4x3xi1>, tensor<2x4x3xcomplex<f64>>
    %11 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %12 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<complex<f64>>) -> tensor<2x3x3xcomplex<f64>>
    %13 = stablehlo.broadcast_in_dim %11, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x3x3xi1>
    %14 = stablehlo.select %13, %0#3, %12 : tensor<2x3x3xi1>, tensor<2x3x3xcomplex<f64>>
    return %10, %6, %14 : tensor<2x4x3xcomplex<f64>>, tensor<2x3xf64>, tensor<2x3x3xcomplex<f64>>
  }
  func.func private @svd_19(%arg0: tensor<2x3x4xcomplex<f64>>) -> (tensor<2x3x3xcomplex<f64>>, tensor<2x3xf64>, tensor<2x4x4xcomplex<f64>>) {
    %cst = stablehlo.constant dense<(0x7FF8000000000000,0x7FF8000000000000)> : tensor<complex<f64>>
    %cst_0 = stablehlo.constant dense<0x7FF8000000000000> : tensor<f64>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0:5 = stablehlo.custom_call @lapack_zgesdd_ffi(%arg0) {mhlo.backend_config = {mode = 65 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x3x4xcomplex<f64>>) -> (tensor<2x3x4xcomplex<f64>>, tensor<2x3xf64>, tensor<2x3x3xcomplex<f64>>, tensor<2x4x4xcomplex<f64>>, tensor<2xi32>)
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %2 = stablehlo.compare EQ, %0#4, %1, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<2xi1>) -> tensor<2x1xi1>
    %4 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f64>) -> tensor<2x3xf64>
    %5 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<2x1xi1>) -> tensor<2x3xi1>
    %6 = stablehlo.select %5, %0#1, %4 : tensor<2x3xi1>, tensor<2x3xf64>
    %7 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %8 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<complex<f64>>) -> tensor<2x3x3xcomplex<f64>>
    %9 = stablehlo.broadcast_in_dim %7, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x3x3xi1>
    %10 = stablehlo.select %9, %0#2, %8 : tensor<2x3x3xi1>, tensor<2x3x3xcomplex<f64>>
    %11 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %12 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<complex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %13 = stablehlo.broadcast_in_dim %11, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x4x4xi1>
    %14 = stablehlo.select %13, %0#3, %12 : tensor<2x4x4xi1>, tensor<2x4x4xcomplex<f64>>
    return %10, %6, %14 : tensor<2x3x3xcomplex<f64>>, tensor<2x3xf64>, tensor<2x4x4xcomplex<f64>>
  }
  func.func private @svd_20(%arg0: tensor<2x4x4xcomplex<f64>>) -> tensor<2x4xf64> {
    %cst = stablehlo.constant dense<0x7FF8000000000000> : tensor<f64>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0:5 = stablehlo.custom_call @lapack_zgesdd_ffi(%arg0) {mhlo.backend_config = {mode = 78 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x4xcomplex<f64>>) -> (tensor<2x4x4xcomplex<f64>>, tensor<2x4xf64>, tensor<2x4x4xcomplex<f64>>, tensor<2x4x4xcomplex<f64>>, tensor<2xi32>)
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %2 = stablehlo.compare EQ, %0#4, %1, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<2xi1>) -> tensor<2x1xi1>
    %4 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<2x4xf64>
    %5 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<2x1xi1>) -> tensor<2x4xi1>
    %6 = stablehlo.select %5, %0#1, %4 : tensor<2x4xi1>, tensor<2x4xf64>
    return %6 : tensor<2x4xf64>
  }
  func.func private @_pinv_21(%arg0: tensor<2x4x3xcomplex<f64>>) -> tensor<2x3x4xcomplex<f64>> {
    %cst = stablehlo.constant dense<0x7FF0000000000000> : tensor<f64>
    %cst_0 = stablehlo.constant dense<2.2204460492503131E-16> : tensor<f64>
    %cst_1 = stablehlo.constant dense<4.000000e+01> : tensor<f64>
    %0 = stablehlo.real %arg0 : (tensor<2x4x3xcomplex<f64>>) -> tensor<2x4x3xf64>
    %1 = stablehlo.imag %arg0 : (tensor<2x4x3xcomplex<f64>>) -> tensor<2x4x3xf64>
    %2 = stablehlo.negate %1 : tensor<2x4x3xf64>
    %3 = stablehlo.complex %0, %2 : tensor<2x4x3xcomplex<f64>>
    %4 = stablehlo.multiply %cst_1, %cst_0 : tensor<f64>
    %5:3 = call @svd_22(%3) : (tensor<2x4x3xcomplex<f64>>) -> (tensor<2x4x3xcomplex<f64>>, tensor<2x3xf64>, tensor<2x3x3xcomplex<f64>>)
    %6 = stablehlo.broadcast_in_dim %4, dims = [] : (tensor<f64>) -> tensor<1xf64>
    %7 = stablehlo.broadcast_in_dim %6, dims = [1] : (tensor<1xf64>) -> tensor<1x1xf64>
    %8 = stablehlo.slice %5#1 [0:2, 0:1] : (tensor<2x3xf64>) -> tensor<2x1xf64>
    %9 = stablehlo.broadcast_in_dim %7, dims = [0, 1] : (tensor<1x1xf64>) -> tensor<2x1xf64>
    %10 = stablehlo.multiply %9, %8 : tensor<2x1xf64>
    %11 = stablehlo.broadcast_in_dim %10, dims = [0, 1] : (tensor<2x1xf64>) -> tensor<2x3xf64>
    %12 = stablehlo.compare GT, %5#1, %11, FLOAT : (tensor<2x3xf64>, tensor<2x3xf64>) -> tensor<2x3xi1>
    %13 = call @_where_15(%12, %5#1, %cst) : (tensor<2x3xi1>, tensor<2x3xf64>, tensor<f64>) -> tensor<2x3xf64>
    %14 = stablehlo.convert %13 : (tensor<2x3xf64>) -> tensor<2x3xcomplex<f64>>
    %15 = stablehlo.transpose %5#2, dims = [0, 2, 1] : (tensor<2x3x3xcomplex<f64>>) -> tensor<2x3x3xcomplex<f64>>
    %16 = stablehlo.transpose %5#0, dims = [0, 2, 1] : (tensor<2x4x3xcomplex<f64>>) -> tensor<2x3x4xcomplex<f64>>
    %17 = stablehlo.broadcast_in_dim %14, dims = [0, 1] : (tensor<2x3xcomplex<f64>>) -> tensor<2x3x1xcomplex<f64>>
    %18 = stablehlo.broadcast_in_dim %17, dims = [0, 1, 2] : (tensor<2x3x1xcomplex<f64>>) -> tensor<2x3x4xcomplex<f64>>
    %19 = stablehlo.divide %16, %18 : tensor<2x3x4xcomplex<f64>>
    %20 = stablehlo.dot_general %15, %19, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [HIGHEST, HIGHEST] : (tensor<2x3x3xcomplex<f64>>, tensor<2x3x4xcomplex<f64>>) -> tensor<2x3x4xcomplex<f64>>
    return %20 : tensor<2x3x4xcomplex<f64>>
  }
  func.func private @svd_22(%arg0: tensor<2x4x3xcomplex<f64>>) -> (tensor<2x4x3xcomplex<f64>>, tensor<2x3xf64>, tensor<2x3x3xcomplex<f64>>) {
    %cst = stablehlo.constant dense<(0x7FF8000000000000,0x7FF8000000000000)> : tensor<complex<f64>>
    %cst_0 = stablehlo.constant dense<0x7FF8000000000000> : tensor<f64>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0:5 = stablehlo.custom_call @lapack_zgesdd_ffi(%arg0) {mhlo.backend_config = {mode = 83 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x3xcomplex<f64>>) -> (tensor<2x4x3xcomplex<f64>>, tensor<2x3xf64>, tensor<2x4x3xcomplex<f64>>, tensor<2x3x3xcomplex<f64>>, tensor<2xi32>)
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %2 = stablehlo.compare EQ, %0#4, %1, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<2xi1>) -> tensor<2x1xi1>
    %4 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f64>) -> tensor<2x3xf64>
    %5 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<2x1xi1>) -> tensor<2x3xi1>
    %6 = stablehlo.select %5, %0#1, %4 : tensor<2x3xi1>, tensor<2x3xf64>
    %7 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %8 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<complex<f64>>) -> tensor<2x4x3xcomplex<f64>>
    %9 = stablehlo.broadcast_in_dim %7, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x4x3xi1>
    %10 = stablehlo.select %9, %0#2, %8 : tensor<2x4x3xi1>, tensor<2x4x3xcomplex<f64>>
    %11 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %12 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<complex<f64>>) -> tensor<2x3x3xcomplex<f64>>
    %13 = stablehlo.broadcast_in_dim %11, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x3x3xi1>
    %14 = stablehlo.select %13, %0#3, %12 : tensor<2x3x3xi1>, tensor<2x3x3xcomplex<f64>>
    return %10, %6, %14 : tensor<2x4x3xcomplex<f64>>, tensor<2x3xf64>, tensor<2x3x3xcomplex<f64>>
  }
}
