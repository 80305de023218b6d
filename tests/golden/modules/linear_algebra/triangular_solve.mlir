module @jit_whole attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x4x4xf32>, %arg1: tensor<2x4x4xf32>, %arg2: tensor<2x4x3xf32>, %arg3: tensor<2x4x3xf32>, %arg4: tensor<2x4x4xf64>, %arg5: tensor<2x4x4xf64>, %arg6: tensor<2x4x3xf64>, %arg7: tensor<2x4x3xf64>) -> (tensor<2x4x3xf32> {jax.result_info = "result[0]"}, tensor<2x4x3xf32> {jax.result_info = "result[1]"}, tensor<2x3x4xf32> {jax.result_info = "result[2]"}, tensor<2x3x4xf32> {jax.result_info = "result[3]"}, tensor<0x4x4xf32> {jax.result_info = "result[4]"}, tensor<2x4x3xf32> {jax.result_info = "result[5]"}, tensor<2x4x3xf32> {jax.result_info = "result[6]"}, tensor<2x4x3xf32> {jax.result_info = "result[7]"}, tensor<2x4x3xf32> {jax.result_info = "result[8]"}, tensor<2x3x4xf32> {jax.result_info = "result[9]"}, tensor<2x3x4xf32> {jax.result_info = "result[10]"}, tensor<2x3x4xf32> {jax.result_info = "result[11]"}, tensor<2x3x4xf32> {jax.result_info = "result[12]"}, tensor<2x4x4xf32> {jax.result_info = "result[13]"}, tensor<2x4x4xf32> {jax.result_info = "result[14]"}, tensor<2x4x3xf64> {jax.result_info = "result[15]"}, tensor<2x4x3xf64> {jax.result_info = "result[16]"}, tensor<2x3x4xf64> {jax.result_info = "result[17]"}, tensor<2x3x4xf64> {jax.result_info = "result[18]"}, tensor<2x4x4xf64> {jax.result_info = "result[19]"}, tensor<2x4x3xf64> {jax.result_info = "result[20]"}, tensor<2x4x3xf64> {jax.result_info = "result[21]"}, tensor<2x4x3xf64> {jax.result_info = "result[22]"}, tensor<2x4x3xf64> {jax.result_info = "result[23]"}, tensor<2x3x4xf64> {jax.result_info = "result[24]"}, tensor<2x3x4xf64> {jax.result_info = "result[25]"}, tensor<2x3x4xf64> {jax.result_info = "result[26]"}, tensor<2x3x4xf64> {jax.result_info = "result[27]"}, tensor<0x4x4xf64> {jax.result_info = "result[28]"}, tensor<0x4x4xf64> {jax.result_info = "result[29]"}) {
    %cst = stablehlo.constant dense<(4.000000e+00,0.000000e+00)> : tensor<complex<f64>>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f64>
    %cst_1 = stablehlo.constant dense<2.000000e+00> : tensor<f64>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %cst_3 = stablehlo.constant dense<4.000000e+00> : tensor<f64>
    %cst_4 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %cst_5 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %cst_6 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %cst_7 = stablehlo.constant dense<(1.000000e+00,0.000000e+00)> : tensor<complex<f32>>
    %cst_8 = stablehlo.constant dense<(0.000000e+00,0.000000e+00)> : tensor<complex<f32>>
    %cst_9 = stablehlo.constant dense<(4.000000e+00,0.000000e+00)> : tensor<complex<f32>>
    %cst_10 = stablehlo.constant dense<4.000000e+00> : tensor<f32>
    %c = stablehlo.constant dense<0> : tensor<i64>
    %0 = stablehlo.transpose %arg0, dims = [0, 2, 1] : (tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
    %1 = stablehlo.dot_general %arg0, %0, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x4xf32>, tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
    %2 = stablehlo.iota dim = 0 : tensor<4x4xi64>
    %3 = stablehlo.iota dim = 1 : tensor<4x4xi64>
    %4 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<4x4xi64>
    %5 = stablehlo.add %2, %4 : tensor<4x4xi64>
    %6 = stablehlo.compare EQ, %5, %3, SIGNED : (tensor<4x4xi64>, tensor<4x4xi64>) -> tensor<4x4xi1>
    %7 = stablehlo.convert %6 : (tensor<4x4xi1>) -> tensor<4x4xf32>
    %8 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<4x4xf32>
    %9 = stablehlo.multiply %8, %7 : tensor<4x4xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [1, 2] : (tensor<4x4xf32>) -> tensor<1x4x4xf32>
    %11 = stablehlo.broadcast_in_dim %10, dims = [0, 1, 2] : (tensor<1x4x4xf32>) -> tensor<2x4x4xf32>
    %12 = stablehlo.add %1, %11 : tensor<2x4x4xf32>
    %13 = stablehlo.custom_call @lapack_strsm_ffi(%12, %arg2) {mhlo.backend_config = {diag = 78 : ui8, side = 76 : ui8, trans_x = 78 : ui8, uplo = 76 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 1, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>]} : (tensor<2x4x4xf32>, tensor<2x4x3xf32>) -> tensor<2x4x3xf32>
    %14 = stablehlo.custom_call @lapack_strsm_ffi(%12, %arg2) {mhlo.backend_config = {diag = 78 : ui8, side = 76 : ui8, trans_x = 84 : ui8, uplo = 85 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 1, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>]} : (tensor<2x4x4xf32>, tensor<2x4x3xf32>) -> tensor<2x4x3xf32>
    %15 = stablehlo.transpose %arg2, dims = [0, 2, 1] : (tensor<2x4x3xf32>) -> tensor<2x3x4xf32>
    %16 = stablehlo.custom_call @lapack_strsm_ffi(%12, %15) {mhlo.backend_config = {diag = 85 : ui8, side = 82 : ui8, trans_x = 78 : ui8, uplo = 76 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 1, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>]} : (tensor<2x4x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
    %17 = stablehlo.transpose %arg2, dims = [0, 2, 1] : (tensor<2x4x3xf32>) -> tensor<2x3x4xf32>
    %18 = stablehlo.custom_call @lapack_strsm_ffi(%12, %17) {mhlo.backend_config = {diag = 78 : ui8, side = 82 : ui8, trans_x = 84 : ui8, uplo = 85 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 1, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>]} : (tensor<2x4x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
    %19 = stablehlo.slice %12 [0:0, 0:4, 0:4] : (tensor<2x4x4xf32>) -> tensor<0x4x4xf32>
    %20 = stablehlo.complex %arg0, %arg1 : tensor<2x4x4xcomplex<f32>>
    %21 = stablehlo.complex %arg2, %arg3 : tensor<2x4x3xcomplex<f32>>
    %22 = stablehlo.transpose %20, dims = [0, 2, 1] : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %23 = stablehlo.real %22 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %24 = stablehlo.imag %22 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %25 = stablehlo.negate %24 : tensor<2x4x4xf32>
    %26 = stablehlo.complex %23, %25 : tensor<2x4x4xcomplex<f32>>
    %27 = stablehlo.dot_general %20, %26, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x4xcomplex<f32>>, tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %28 = stablehlo.iota dim = 0 : tensor<4x4xi64>
    %29 = stablehlo.iota dim = 1 : tensor<4x4xi64>
    %30 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<4x4xi64>
    %31 = stablehlo.add %28, %30 : tensor<4x4xi64>
    %32 = stablehlo.compare EQ, %31, %29, SIGNED : (tensor<4x4xi64>, tensor<4x4xi64>) -> tensor<4x4xi1>
    %33 = stablehlo.convert %32 : (tensor<4x4xi1>) -> tensor<4x4xcomplex<f32>>
    %34 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<complex<f32>>) -> tensor<4x4xcomplex<f32>>
    %35 = stablehlo.multiply %34, %33 : tensor<4x4xcomplex<f32>>
    %36 = stablehlo.broadcast_in_dim %35, dims = [1, 2] : (tensor<4x4xcomplex<f32>>) -> tensor<1x4x4xcomplex<f32>>
    %37 = stablehlo.broadcast_in_dim %36, dims = [0, 1, 2] : (tensor<1x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %38 = stablehlo.add %27, %37 : tensor<2x4x4xcomplex<f32>>
    %39 = stablehlo.custom_call @lapack_ctrsm_ffi(%38, %21) {mhlo.backend_config = {diag = 78 : ui8, side = 76 : ui8, trans_x = 78 : ui8, uplo = 76 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 1, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>]} : (tensor<2x4x4xcomplex<f32>>, tensor<2x4x3xcomplex<f32>>) -> tensor<2x4x3xcomplex<f32>>
    %40 = stablehlo.custom_call @lapack_ctrsm_ffi(%38, %21) {mhlo.backend_config = {diag = 78 : ui8, side = 76 : ui8, trans_x = 67 : ui8, uplo = 85 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 1, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>]} : (tensor<2x4x4xcomplex<f32>>, tensor<2x4x3xcomplex<f32>>) -> tensor<2x4x3xcomplex<f32>>
    %41 = stablehlo.transpose %21, dims = [0, 2, 1] : (tensor<2x4x3xcomplex<f32>>) -> tensor<2x3x4xcomplex<f32>>
    %42 = stablehlo.real %41 : (tensor<2x3x4xcomplex<f32>>) -> tensor<2x3x4xf32>
    %43 = stablehlo.imag %41 : (tensor<2x3x4xcomplex<f32>>) -> tensor<2x3x4xf32>
    %44 = stablehlo.negate %43 : tensor<2x3x4xf32>
    %45 = stablehlo.complex %42, %44 : tensor<2x3x4xcomplex<f32>>
    %46 = stablehlo.custom_call @lapack_ctrsm_ffi(%38, %45) {mhlo.backend_config = {diag = 85 : ui8, side = 82 : ui8, trans_x = 78 : ui8, uplo = 76 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 1, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>]} : (tensor<2x4x4xcomplex<f32>>, tensor<2x3x4xcomplex<f32>>) -> tensor<2x3x4xcomplex<f32>>
    %47 = stablehlo.transpose %21, dims = [0, 2, 1] : (tensor<2x4x3xcomplex<f32>>) -> tensor<2x3x4xcomplex<f32>>
    %48 = stablehlo.real %47 : (tensor<2x3x4xcomplex<f32>>) -> tensor<2x3x4xf32>
    %49 = stablehlo.imag %47 : (tensor<2x3x4xcomplex<f32>>) -> tensor<2x3x4xf32>
    %50 = stablehlo.negate %49 : tensor<2x3x4xf32>
    %51 = stablehlo.complex %48, %50 : tensor<2x3x4xcomplex<f32>>
    %52 = stablehlo.custom_call @lapack_ctrsm_ffi(%38, %51) {mhlo.backend_config = {diag = 78 : ui8, side = 82 : ui8, trans_x = 84 : ui8, uplo = 85 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 1, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>]} : (tensor<2x4x4xcomplex<f32>>, tensor<2x3x4xcomplex<f32>>) -> tensor<2x3x4xcomplex<f32>>
    %53 = stablehlo.custom_call @lapack_ctrsm_ffi(%38, %21) {mhlo.backend_config = {diag = 78 : ui8, side = 76 : ui8, trans_x = 78 : ui8, uplo = 76 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 1, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>]} : (tensor<2x4x4xcomplex<f32>>, tensor<2x4x3xcomplex<f32>>) -> tensor<2x4x3xcomplex<f32>>
    %54 = stablehlo.iota dim = 0 : tensor<4x4xi64>
    %55 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<4x4xi64>
    %56 = stablehlo.add %54, %55 : tensor<4x4xi64>
    %57 = stablehlo.iota dim = 1 : tensor<4x4xi64>
    %58 = stablehlo.compare GE, %56, %57, SIGNED : (tensor<4x4xi64>, tensor<4x4xi64>) -> tensor<4x4xi1>
    %59 = stablehlo.broadcast_in_dim %58, dims = [1, 2] : (tensor<4x4xi1>) -> tensor<2x4x4xi1>
    %60 = stablehlo.abs %53 : (tensor<2x4x3xcomplex<f32>>) -> tensor<2x4x3xf32>
    %61 = stablehlo.real %53 : (tensor<2x4x3xcomplex<f32>>) -> tensor<2x4x3xf32>
    %62 = stablehlo.imag %53 : (tensor<2x4x3xcomplex<f32>>) -> tensor<2x4x3xf32>
    %63 = stablehlo.negate %62 : tensor<2x4x3xf32>
    %64 = stablehlo.complex %61, %63 : tensor<2x4x3xcomplex<f32>>
    %65 = stablehlo.convert %60 : (tensor<2x4x3xf32>) -> tensor<2x4x3xcomplex<f32>>
    %66 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<complex<f32>>) -> tensor<2x4x3xcomplex<f32>>
    %67 = stablehlo.compare EQ, %65, %66, FLOAT : (tensor<2x4x3xcomplex<f32>>, tensor<2x4x3xcomplex<f32>>) -> tensor<2x4x3xi1>
    %68 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<complex<f32>>) -> tensor<2x4x3xcomplex<f32>>
    %69 = stablehlo.select %67, %68, %65 : tensor<2x4x3xi1>, tensor<2x4x3xcomplex<f32>>
    %70 = stablehlo.divide %64, %69 : tensor<2x4x3xcomplex<f32>>
    %71 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<2x4x3xf32>
    %72 = stablehlo.multiply %71, %60 : tensor<2x4x3xf32>
    %73 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<2x4x3xf32>
    %74 = stablehlo.multiply %73, %72 : tensor<2x4x3xf32>
    %75 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<2x4x3xf32>
    %76 = stablehlo.complex %74, %75 : tensor<2x4x3xcomplex<f32>>
    %77 = stablehlo.multiply %76, %70 : tensor<2x4x3xcomplex<f32>>
    %78 = stablehlo.custom_call @lapack_ctrsm_ffi(%38, %77) {mhlo.backend_config = {diag = 78 : ui8, side = 76 : ui8, trans_x = 84 : ui8, uplo = 76 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 1, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>]} : (tensor<2x4x4xcomplex<f32>>, tensor<2x4x3xcomplex<f32>>) -> tensor<2x4x3xcomplex<f32>>
    %79 = stablehlo.dot_general %78, %53, batching_dims = [0] x [0], contracting_dims = [2] x [2], precision = [HIGHEST, HIGHEST] : (tensor<2x4x3xcomplex<f32>>, tensor<2x4x3xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %80 = stablehlo.negate %79 : tensor<2x4x4xcomplex<f32>>
    %81 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<complex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %82 = stablehlo.select %59, %80, %81 : tensor<2x4x4xi1>, tensor<2x4x4xcomplex<f32>>
    %83 = stablehlo.real %39 : (tensor<2x4x3xcomplex<f32>>) -> tensor<2x4x3xf32>
    %84 = stablehlo.imag %39 : (tensor<2x4x3xcomplex<f32>>) -> tensor<2x4x3xf32>
    %85 = stablehlo.real %40 : (tensor<2x4x3xcomplex<f32>>) -> tensor<2x4x3xf32>
    %86 = stablehlo.imag %40 : (tensor<2x4x3xcomplex<f32>>) -> tensor<2x4x3xf32>
    %87 = stablehlo.real %46 : (tensor<2x3x4xcomplex<f32>>) -> tensor<2x3x4xf32>
    %88 = stablehlo.imag %46 : (tensor<2x3x4xcomplex<f32>>) -> tensor<2x3x4xf32>
    %89 = stablehlo.real %52 : (tensor<2x3x4xcomplex<f32>>) -> tensor<2x3x4xf32>
    %90 = stablehlo.imag %52 : (tensor<2x3x4xcomplex<f32>>) -> tensor<2x3x4xf32>
    %91 = stablehlo.real %82 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %92 = stablehlo.imag %82 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %93 = stablehlo.transpose %arg4, dims = [0, 2, 1] : (tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %94 = stablehlo.dot_general %arg4, %93, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x4xf64>, tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %95 = stablehlo.iota dim = 0 : tensor<4x4xi64>
    %96 = stablehlo.iota dim = 1 : tensor<4x4xi64>
    %97 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<4x4xi64>
    %98 = stablehlo.add %95, %97 : tensor<4x4xi64>
    %99 = stablehlo.compare EQ, %98, %96, SIGNED : (tensor<4x4xi64>, tensor<4x4xi64>) -> tensor<4x4xi1>
    %100 = stablehlo.convert %99 : (tensor<4x4xi1>) -> tensor<4x4xf64>
    %101 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f64>) -> tensor<4x4xf64>
    %102 = stablehlo.multiply %101, %100 : tensor<4x4xf64>
    %103 = stablehlo.broadcast_in_dim %102, dims = [1, 2] : (tensor<4x4xf64>) -> tensor<1x4x4xf64>
    %104 = stablehlo.broadcast_in_dim %103, dims = [0, 1, 2] : (tensor<1x4x4xf64>) -> tensor<2x4x4xf64>
    %105 = stablehlo.add %94, %104 : tensor<2x4x4xf64>
    %106 = stablehlo.custom_call @lapack_dtrsm_ffi(%105, %arg6) {mhlo.backend_config = {diag = 78 : ui8, side = 76 : ui8, trans_x = 78 : ui8, uplo = 76 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 1, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>]} : (tensor<2x4x4xf64>, tensor<2x4x3xf64>) -> tensor<2x4x3xf64>
    %107 = stablehlo.custom_call @lapack_dtrsm_ffi(%105, %arg6) {mhlo.backend_config = {diag = 78 : ui8, side = 76 : ui8, trans_x = 84 : ui8, uplo = 85 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 1, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>]} : (tensor<2x4x4xf64>, tensor<2x4x3xf64>) -> tensor<2x4x3xf64>
    %108 = stablehlo.transpose %arg6, dims = [0, 2, 1] : (tensor<2x4x3xf64>) -> tensor<2x3x4xf64>
    %109 = stablehlo.custom_call @lapack_dtrsm_ffi(%105, %108) {mhlo.backend_config = {diag = 85 : ui8, side = 82 : ui8, trans_x = 78 : ui8, uplo = 76 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 1, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>]} : (tensor<2x4x4xf64>, tensor<2x3x4xf64>) -> tensor<2x3x4xf64>
    %110 = stablehlo.transpose %arg6, dims = [0, 2, 1] : (tensor<2x4x3xf64>) -> tensor<2x3x4xf64>
    %111 = stablehlo.custom_call @lapack_dtrsm_ffi(%105, %110) {mhlo.backend_config = {diag = 78 : ui8, side = 82 : ui8, trans_x = 84 : ui8, uplo = 85 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 1, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>]} : (tensor<2x4x4xf64>, tensor<2x3x4xf64>) -> tensor<2x3x4xf64>
    %112 = stablehlo.custom_call @lapack_dtrsm_ffi(%105, %arg6) {mhlo.backend_config = {diag = 78 : ui8, side = 76 : ui8, trans_x = 78 : ui8, uplo = 76 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 1, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>]} : (tensor<2x4x4xf64>, tensor<2x4x3xf64>) -> tensor<2x4x3xf64>
    %113 = stablehlo.iota dim = 0 : tensor<4x4xi64>
    %114 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<4x4xi64>
    %115 = stablehlo.add %113, %114 : tensor<4x4xi64>
    %116 = stablehlo.iota dim = 1 : tensor<4x4xi64>
    %117 = stablehlo.compare GE, %115, %116, SIGNED : (tensor<4x4xi64>, tensor<4x4xi64>) -> tensor<4x4xi1>
    %118 = stablehlo.broadcast_in_dim %117, dims = [1, 2] : (tensor<4x4xi1>) -> tensor<2x4x4xi1>
    %119 = stablehlo.abs %112 : tensor<2x4x3xf64>
    %120 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f64>) -> tensor<2x4x3xf64>
    %121 = stablehlo.compare GE, %112, %120, FLOAT : (tensor<2x4x3xf64>, tensor<2x4x3xf64>) -> tensor<2x4x3xi1>
    %122 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f64>) -> tensor<2x4x3xf64>
    %123 = stablehlo.multiply %122, %119 : tensor<2x4x3xf64>
    %124 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f64>) -> tensor<2x4x3xf64>
    %125 = stablehlo.multiply %124, %123 : tensor<2x4x3xf64>
    %126 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f64>) -> tensor<2x4x3xf64>
    %127 = stablehlo.select %121, %126, %125 : tensor<2x4x3xi1>, tensor<2x4x3xf64>
    %128 = stablehlo.select %121, %125, %126 : tensor<2x4x3xi1>, tensor<2x4x3xf64>
    %129 = stablehlo.negate %127 : tensor<2x4x3xf64>
    %130 = stablehlo.add %128, %129 : tensor<2x4x3xf64>
    %131 = stablehlo.custom_call @lapack_dtrsm_ffi(%105, %130) {mhlo.backend_config = {diag = 78 : ui8, side = 76 : ui8, trans_x = 84 : ui8, uplo = 76 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 1, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>]} : (tensor<2x4x4xf64>, tensor<2x4x3xf64>) -> tensor<2x4x3xf64>
    %132 = stablehlo.dot_general %131, %112, batching_dims = [0] x [0], contracting_dims = [2] x [2], precision = [HIGHEST, HIGHEST] : (tensor<2x4x3xf64>, tensor<2x4x3xf64>) -> tensor<2x4x4xf64>
    %133 = stablehlo.negate %132 : tensor<2x4x4xf64>
    %134 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f64>) -> tensor<2x4x4xf64>
    %135 = stablehlo.select %118, %133, %134 : tensor<2x4x4xi1>, tensor<2x4x4xf64>
    %136 = stablehlo.complex %arg4, %arg5 : tensor<2x4x4xcomplex<f64>>
    %137 = stablehlo.complex %arg6, %arg7 : tensor<2x4x3xcomplex<f64>>
    %138 = stablehlo.transpose %136, dims = [0, 2, 1] : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %139 = stablehlo.real %138 : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xf64>
    %140 = stablehlo.imag %138 : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xf64>
    %141 = stablehlo.negate %140 : tensor<2x4x4xf64>
    %142 = stablehlo.complex %139, %141 : tensor<2x4x4xcomplex<f64>>
    %143 = stablehlo.dot_general %136, %142, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x4xcomplex<f64>>, tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %144 = stablehlo.iota dim = 0 : tensor<4x4xi64>
    %145 = stablehlo.iota dim = 1 : tensor<4x4xi64>
    %146 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<4x4xi64>
    %147 = stablehlo.add %144, %146 : tensor<4x4xi64>
    %148 = stablehlo.compare EQ, %147, %145, SIGNED : (tensor<4x4xi64>, tensor<4x4xi64>) -> tensor<4x4xi1>
    %149 = stablehlo.convert %148 : (tensor<4x4xi1>) -> tensor<4x4xcomplex<f64>>
    %150 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<complex<f64>>) -> tensor<4x4xcomplex<f64>>
    %151 = stablehlo.multiply %150, %149 : tensor<4x4xcomplex<f64>>
    %152 = stablehlo.broadcast_in_dim %151, dims = [1, 2] : (tensor<4x4xcomplex<f64>>) -> tensor<1x4x4xcomplex<f64>>
    %153 = stablehlo.broadcast_in_dim %152, dims = [0, 1, 2] : (tensor<1x4x4xcomplex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %154 = stablehlo.add %143, %153 : tensor<2x4x4xcomplex<f64>>
    %155 = stablehlo.custom_call @lapack_ztrsm_ffi(%154, %137) {mhlo.backend_config = {diag = 78 : ui8, side = 76 : ui8, trans_x = 78 : ui8, uplo = 76 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 1, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>]} : (tensor<2x4x4xcomplex<f64>>, tensor<2x4x3xcomplex<f64>>) -> tensor<2x4x3xcomplex<f64>>
    %156 = stablehlo.custom_call @lapack_ztrsm_ffi(%154, %137) {mhlo.backend_config = {diag = 78 : ui8, side = 76 : ui8, trans_x = 67 : ui8, uplo = 85 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 1, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>]} : (tensor<2x4x4xcomplex<f64>>, tensor<2x4x3xcomplex<f64>>) -> tensor<2x4x3xcomplex<f64>>
    %157 = stablehlo.transpose %137, dims = [0, 2, 1] : (tensor<2x4x3xcomplex<f64>>) -> tensor<2x3x4xcomplex<f64>>
    %158 = stablehlo.real %157 : (tensor<2x3x4xcomplex<f64>>) -> tensor<2x3x4xf64>
    %159 = stablehlo.imag %157 : (tensor<2x3x4xcomplex<f64>>) -> tensor<2x3x4xf64>
    %160 = stablehlo.negate %159 : tensor<2x3x4xf64>
    %161 = stablehlo.complex %158, %160 : tensor<2x3x4xcomplex<f64>>
    %162 = stablehlo.custom_call @lapack_ztrsm_ffi(%154, %161) {mhlo.backend_config = {diag = 85 : ui8, side = 82 : ui8, trans_x = 78 : ui8, uplo = 76 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 1, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>]} : (tensor<2x4x4xcomplex<f64>>, tensor<2x3x4xcomplex<f64>>) -> tensor<2x3x4xcomplex<f64>>
    %163 = stablehlo.transpose %137, dims = [0, 2, 1] : (tensor<2x4x3xcomplex<f64>>) -> tensor<2x3x4xcomplex<f64>>
    %164 = stablehlo.real %163 : (tensor<2x3x4xcomplex<f64>>) -> tensor<2x3x4xf64>
    %165 = stablehlo.imag %163 : (tensor<2x3x4xcomplex<f64>>) -> tensor<2x3x4xf64>
    %166 = stablehlo.negate %165 : tensor<2x3x4xf64>
    %167 = stablehlo.complex %164, %166 : tensor<2x3x4xcomplex<f64>>
    %168 = stablehlo.custom_call @lapack_ztrsm_ffi(%154, %167) {mhlo.backend_config = {diag = 78 : ui8, side = 82 : ui8, trans_x = 84 : ui8, uplo = 85 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 1, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>]} : (tensor<2x4x4xcomplex<f64>>, tensor<2x3x4xcomplex<f64>>) -> tensor<2x3x4xcomplex<f64>>
    %169 = stablehlo.slice %154 [0:0, 0:4, 0:4] : (tensor<2x4x4xcomplex<f64>>) -> tensor<0x4x4xcomplex<f64>>
    %170 = stablehlo.real %155 : (tensor<2x4x3xcomplex<f64>>) -> tensor<2x4x3xf64>
    %171 = stablehlo.imag %155 : (tensor<2x4x3xcomplex<f64>>) -> tensor<2x4x3xf64>
    %172 = stablehlo.real %156 : (tensor<2x4x3xcomplex<f64>>) -> tensor<2x4x3xf64>
    %173 = stablehlo.imag %156 : (tensor<2x4x3xcomplex<f64>>) -> tensor<2x4x3xf64>
    %174 = stablehlo.real %162 : (tensor<2x3x4xcomplex<f64>>) -> tensor<2x3x4xf64>
    %175 = stablehlo.imag %162 : (tensor<2x3x4xcomplex<f64>>) -> tensor<2x3x4xf64>
    %176 = stablehlo.real %168 : (tensor<2x3x4xcomplex<f64>>) -> tensor<2x3x4xf64>
    %177 = stablehlo.imag %168 : (tensor<2x3x4xcomplex<f64>>) -> tensor<2x3x4xf64>
    %178 = stablehlo.real %169 : (tensor<0x4x4xcomplex<f64>>) -> tensor<0x4x4xf64>
    %179 = stablehlo.imag %169 : (tensor<0x4x4xcomplex<f64>>) -> tensor<0x4x4xf64>
    return %13, %14, %16, %18, %19, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %106, %107, %109, %111, %135, %170, %171, %172, %173, %174, %175, %176, %177, %178, %179 : tensor<2x4x3xf32>, tensor<2x4x3xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<0x4x4xf32>, tensor<2x4x3xf32>, tensor<2x4x3xf32>, tensor<2x4x3xf32>, tensor<2x4x3xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x4x4xf32>, tensor<2x4x4xf32>, tensor<2x4x3xf64>, tensor<2x4x3xf64>, tensor<2x3x4xf64>, tensor<2x3x4xf64>, tensor<2x4x4xf64>, tensor<2x4x3xf64>, tensor<2x4x3xf64>, tensor<2x4x3xf64>, tensor<2x4x3xf64>, tensor<2x3x4xf64>, tensor<2x3x4xf64>, tensor<2x3x4xf64>, tensor<2x3x4xf64>, tensor<0x4x4xf64>, tensor<0x4x4xf64>
  }
}
