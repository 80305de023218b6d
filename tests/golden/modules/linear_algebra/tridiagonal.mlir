module @jit_whole attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x4x4xf32>, %arg1: tensor<2x4x4xf32>, %arg2: tensor<2x4x3xf32>, %arg3: tensor<2x4x3xf32>, %arg4: tensor<2x4x4xf64>, %arg5: tensor<2x4x4xf64>, %arg6: tensor<2x4x3xf64>, %arg7: tensor<2x4x3xf64>) -> (tensor<2x4x4xf32> {jax.result_info = "result[0]"}, tensor<2x4xf32> {jax.result_info = "result[1]"}, tensor<2x3xf32> {jax.result_info = "result[2]"}, tensor<2x3xf32> {jax.result_info = "result[3]"}, tensor<2x4xf32> {jax.result_info = "result[4]"}, tensor<2x4x4xf32> {jax.result_info = "result[5]"}, tensor<2x4x4xf32> {jax.result_info = "result[6]"}, tensor<2x4xf32> {jax.result_info = "result[7]"}, tensor<2x3xf32> {jax.result_info = "result[8]"}, tensor<2x3xf32> {jax.result_info = "result[9]"}, tensor<2x3xf32> {jax.result_info = "result[10]"}, tensor<2x4xf32> {jax.result_info = "result[11]"}, tensor<2x4x4xf64> {jax.result_info = "result[12]"}, tensor<2x4xf64> {jax.result_info = "result[13]"}, tensor<2x3xf64> {jax.result_info = "result[14]"}, tensor<2x3xf64> {jax.result_info = "result[15]"}, tensor<2x4xf64> {jax.result_info = "result[16]"}, tensor<2x4x4xf64> {jax.result_info = "result[17]"}, tensor<2x4x4xf64> {jax.result_info = "result[18]"}, tensor<2x4xf64> {jax.result_info = "result[19]"}, tensor<2x3xf64> {jax.result_info = "result[20]"}, tensor<2x3xf64> {jax.result_info = "result[21]"}, tensor<2x3xf64> {jax.result_info = "result[22]"}, tensor<2x4xf64> {jax.result_info = "result[23]"}) {
    %cst = stablehlo.constant dense<(0x7FF8000000000000,0x7FF8000000000000)> : tensor<complex<f64>>
    %cst_0 = stablehlo.constant dense<0x7FF8000000000000> : tensor<f64>
    %cst_1 = stablehlo.constant dense<(0x7FC00000,0x7FC00000)> : tensor<complex<f32>>
    %cst_2 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.transpose %arg0, dims = [0, 2, 1] : (tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
    %1 = stablehlo.add %arg0, %0 : tensor<2x4x4xf32>
    %2:5 = stablehlo.custom_call @lapack_ssytrd_ffi(%1) {mhlo.backend_config = {uplo = 76 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 0]> : tensor<2xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x4xf32>) -> (tensor<2x4x4xf32>, tensor<2x4xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2xi32>)
    %3 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %4 = stablehlo.compare EQ, %2#4, %3, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %6 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<2x4x4xf32>
    %7 = stablehlo.broadcast_in_dim %5, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x4x4xi1>
    %8 = stablehlo.select %7, %2#0, %6 : tensor<2x4x4xi1>, tensor<2x4x4xf32>
    %9 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<2xi1>) -> tensor<2x1xi1>
    %10 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<2x4xf32>
    %11 = stablehlo.broadcast_in_dim %9, dims = [0, 1] : (tensor<2x1xi1>) -> tensor<2x4xi1>
    %12 = stablehlo.select %11, %2#1, %10 : tensor<2x4xi1>, tensor<2x4xf32>
    %13 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<2xi1>) -> tensor<2x1xi1>
    %14 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
    %15 = stablehlo.broadcast_in_dim %13, dims = [0, 1] : (tensor<2x1xi1>) -> tensor<2x3xi1>
    %16 = stablehlo.select %15, %2#2, %14 : tensor<2x3xi1>, tensor<2x3xf32>
    %17 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<2xi1>) -> tensor<2x1xi1>
    %18 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
    %19 = stablehlo.broadcast_in_dim %17, dims = [0, 1] : (tensor<2x1xi1>) -> tensor<2x3xi1>
    %20 = stablehlo.select %19, %2#3, %18 : tensor<2x3xi1>, tensor<2x3xf32>
    %21 = stablehlo.transpose %arg0, dims = [0, 2, 1] : (tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
    %22 = stablehlo.add %arg0, %21 : tensor<2x4x4xf32>
    %23:5 = stablehlo.custom_call @lapack_ssytrd_ffi(%22) {mhlo.backend_config = {uplo = 85 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 0]> : tensor<2xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x4xf32>) -> (tensor<2x4x4xf32>, tensor<2x4xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2xi32>)
    %24 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %25 = stablehlo.compare EQ, %23#4, %24, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %26 = stablehlo.broadcast_in_dim %25, dims = [0] : (tensor<2xi1>) -> tensor<2x1xi1>
    %27 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<2x4xf32>
    %28 = stablehlo.broadcast_in_dim %26, dims = [0, 1] : (tensor<2x1xi1>) -> tensor<2x4xi1>
    %29 = stablehlo.select %28, %23#1, %27 : tensor<2x4xi1>, tensor<2x4xf32>
    %30 = stablehlo.complex %arg0, %arg1 : tensor<2x4x4xcomplex<f32>>
    %31 = stablehlo.transpose %30, dims = [0, 2, 1] : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %32 = stablehlo.real %31 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %33 = stablehlo.imag %31 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %34 = stablehlo.negate %33 : tensor<2x4x4xf32>
    %35 = stablehlo.complex %32, %34 : tensor<2x4x4xcomplex<f32>>
    %36 = stablehlo.add %30, %35 : tensor<2x4x4xcomplex<f32>>
    %37:5 = stablehlo.custom_call @lapack_chetrd_ffi(%36) {mhlo.backend_config = {uplo = 76 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 0]> : tensor<2xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x4xcomplex<f32>>) -> (tensor<2x4x4xcomplex<f32>>, tensor<2x4xf32>, tensor<2x3xf32>, tensor<2x3xcomplex<f32>>, tensor<2xi32>)
    %38 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %39 = stablehlo.compare EQ, %37#4, %38, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %40 = stablehlo.broadcast_in_dim %39, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %41 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<complex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %42 = stablehlo.broadcast_in_dim %40, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x4x4xi1>
    %43 = stablehlo.select %42, %37#0, %41 : tensor<2x4x4xi1>, tensor<2x4x4xcomplex<f32>>
    %44 = stablehlo.broadcast_in_dim %39, dims = [0] : (tensor<2xi1>) -> tensor<2x1xi1>
    %45 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<2x4xf32>
    %46 = stablehlo.broadcast_in_dim %44, dims = [0, 1] : (tensor<2x1xi1>) -> tensor<2x4xi1>
    %47 = stablehlo.select %46, %37#1, %45 : tensor<2x4xi1>, tensor<2x4xf32>
    %48 = stablehlo.broadcast_in_dim %39, dims = [0] : (tensor<2xi1>) -> tensor<2x1xi1>
    %49 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
    %50 = stablehlo.broadcast_in_dim %48, dims = [0, 1] : (tensor<2x1xi1>) -> tensor<2x3xi1>
    %51 = stablehlo.select %50, %37#2, %49 : tensor<2x3xi1>, tensor<2x3xf32>
    %52 = stablehlo.broadcast_in_dim %39, dims = [0] : (tensor<2xi1>) -> tensor<2x1xi1>
    %53 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<complex<f32>>) -> tensor<2x3xcomplex<f32>>
    %54 = stablehlo.broadcast_in_dim %52, dims = [0, 1] : (tensor<2x1xi1>) -> tensor<2x3xi1>
    %55 = stablehlo.select %54, %37#3, %53 : tensor<2x3xi1>, tensor<2x3xcomplex<f32>>
    %56 = stablehlo.transpose %30, dims = [0, 2, 1] : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %57 = stablehlo.real %56 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %58 = stablehlo.imag %56 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %59 = stablehlo.negate %58 : tensor<2x4x4xf32>
    %60 = stablehlo.complex %57, %59 : tensor<2x4x4xcomplex<f32>>
    %61 = stablehlo.add %30, %60 : tensor<2x4x4xcomplex<f32>>
    %62:5 = stablehlo.custom_call @lapack_chetrd_ffi(%61) {mhlo.backend_config = {uplo = 85 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 0]> : tensor<2xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x4xcomplex<f32>>) -> (tensor<2x4x4xcomplex<f32>>, tensor<2x4xf32>, tensor<2x3xf32>, tensor<2x3xcomplex<f32>>, tensor<2xi32>)
    %63 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %64 = stablehlo.compare EQ, %62#4, %63, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %65 = stablehlo.broadcast_in_dim %64, dims = [0] : (tensor<2xi1>) -> tensor<2x1xi1>
    %66 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<2x4xf32>
    %67 = stablehlo.broadcast_in_dim %65, dims = [0, 1] : (tensor<2x1xi1>) -> tensor<2x4xi1>
    %68 = stablehlo.select %67, %62#1, %66 : tensor<2x4xi1>, tensor<2x4xf32>
    %69 = stablehlo.real %43 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %70 = stablehlo.imag %43 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %71 = stablehlo.real %55 : (tensor<2x3xcomplex<f32>>) -> tensor<2x3xf32>
    %72 = stablehlo.imag %55 : (tensor<2x3xcomplex<f32>>) -> tensor<2x3xf32>
    %73 = stablehlo.transpose %arg4, dims = [0, 2, 1] : (tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %74 = stablehlo.add %arg4, %73 : tensor<2x4x4xf64>
    %75:5 = stablehlo.custom_call @lapack_dsytrd_ffi(%74) {mhlo.backend_config = {uplo = 76 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 0]> : tensor<2xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x4xf64>) -> (tensor<2x4x4xf64>, tensor<2x4xf64>, tensor<2x3xf64>, tensor<2x3xf64>, tensor<2xi32>)
    %76 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %77 = stablehlo.compare EQ, %75#4, %76, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %78 = stablehlo.broadcast_in_dim %77, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %79 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f64>) -> tensor<2x4x4xf64>
    %80 = stablehlo.broadcast_in_dim %78, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x4x4xi1>
    %81 = stablehlo.select %80, %75#0, %79 : tensor<2x4x4xi1>, tensor<2x4x4xf64>
    %82 = stablehlo.broadcast_in_dim %77, dims = [0] : (tensor<2xi1>) -> tensor<2x1xi1>
    %83 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f64>) -> tensor<2x4xf64>
    %84 = stablehlo.broadcast_in_dim %82, dims = [0, 1] : (tensor<2x1xi1>) -> tensor<2x4xi1>
    %85 = stablehlo.select %84, %75#1, %83 : tensor<2x4xi1>, tensor<2x4xf64>
    %86 = stablehlo.broadcast_in_dim %77, dims = [0] : (tensor<2xi1>) -> tensor<2x1xi1>
    %87 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f64>) -> tensor<2x3xf64>
    %88 = stablehlo.broadcast_in_dim %86, dims = [0, 1] : (tensor<2x1xi1>) -> tensor<2x3xi1>
    %89 = stablehlo.select %88, %75#2, %87 : tensor<2x3xi1>, tensor<2x3xf64>
    %90 = stablehlo.broadcast_in_dim %77, dims = [0] : (tensor<2xi1>) -> tensor<2x1xi1>
    %91 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f64>) -> tensor<2x3xf64>
    %92 = stablehlo.broadcast_in_dim %90, dims = [0, 1] : (tensor<2x1xi1>) -> tensor<2x3xi1>
    %93 = stablehlo.select %92, %75#3, %91 : tensor<2x3xi1>, tensor<2x3xf64>
    %94 = stablehlo.transpose %arg4, dims = [0, 2, 1] : (tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %95 = stablehlo.add %arg4, %94 : tensor<2x4x4xf64>
    %96:5 = stablehlo.custom_call @lapack_dsytrd_ffi(%95) {mhlo.backend_config = {uplo = 85 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 0]> : tensor<2xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x4xf64>) -> (tensor<2x4x4xf64>, tensor<2x4xf64>, tensor<2x3xf64>, tensor<2x3xf64>, tensor<2xi32>)
    %97 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %98 = stablehlo.compare EQ, %96#4, %97, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %99 = stablehlo.broadcast_in_dim %98, dims = [0] : (tensor<2xi1>) -> tensor<2x1xi1>
    %100 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f64>) -> tensor<2x4xf64>
    %101 = stablehlo.broadcast_in_dim %99, dims = [0, 1] : (tensor<2x1xi1>) -> tensor<2x4xi1>
    %102 = stablehlo.select %101, %96#1, %100 : tensor<2x4xi1>, tensor<2x4xf64>
    %103 = stablehlo.complex %arg4, %arg5 : tensor<2x4x4xcomplex<f64>>
    %104 = stablehlo.transpose %103, dims = [0, 2, 1] : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %105 = stablehlo.real %104 : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xf64>
    %106 = stablehlo.imag %104 : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xf64>
    %107 = stablehlo.negate %106 : tensor<2x4x4xf64>
    %108 = stablehlo.complex %105, %107 : tensor<2x4x4xcomplex<f64>>
    %109 = stablehlo.add %103, %108 : tensor<2x4x4xcomplex<f64>>
    %110:5 = stablehlo.custom_call @lapack_zhetrd_ffi(%109) {mhlo.backend_config = {uplo = 76 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 0]> : tensor<2xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x4xcomplex<f64>>) -> (tensor<2x4x4xcomplex<f64>>, tensor<2x4xf64>, tensor<2x3xf64>, tensor<2x3xcomplex<f64>>, tensor<2xi32>)
    %111 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %112 = stablehlo.compare EQ, %110#4, %111, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %113 = stablehlo.broadcast_in_dim %112, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %114 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<complex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %115 = stablehlo.broadcast_in_dim %113, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x4x4xi1>
    %116 = stablehlo.select %115, %110#0, %114 : tensor<2x4x4xi1>, tensor<2x4x4xcomplex<f64>>
    %117 = stablehlo.broadcast_in_dim %112, dims = [0] : (tensor<2xi1>) -> tensor<2x1xi1>
    %118 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f64>) -> tensor<2x4xf64>
    %119 = stablehlo.broadcast_in_dim %117, dims = [0, 1] : (tensor<2x1xi1>) -> tensor<2x4xi1>
    %120 = stablehlo.select %119, %110#1, %118 : tensor<2x4xi1>, tensor<2x4xf64>
    %121 = stablehlo.broadcast_in_dim %112, dims = [0] : (tensor<2xi1>) -> tensor<2x1xi1>
    %122 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f64>) -> tensor<2x3xf64>
    %123 = stablehlo.broadcast_in_dim %121, dims = [0, 1] : (tensor<2x1xi1>) -> tensor<2x3xi1>
    %124 = stablehlo.select %123, %110#2, %122 : tensor<2x3xi1>, tensor<2x3xf64>
    %125 = stablehlo.broadcast_in_dim %112, dims = [0] : (tensor<2xi1>) -> tensor<2x1xi1>
    %126 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<complex<f64>>) -> tensor<2x3xcomplex<f64>>
    %127 = stablehlo.broadcast_in_dim %125, dims = [0, 1] : (tensor<2x1xi1>) -> tensor<2x3xi1>
    %128 = stablehlo.select %127, %110#3, %126 : tensor<2x3xi1>, tensor<2x3xcomplex<f64>>
    %129 = stablehlo.transpose %103, dims = [0, 2, 1] : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %130 = stablehlo.real %129 : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xf64>
    %131 = stablehlo.imag %129 : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xf64>
    %132 = stablehlo.negate %131 : tensor<2x4x4xf64>
    %133 = stablehlo.complex %130, %132 : tensor<2x4x4xcomplex<f64>>
    %134 = stablehlo.add %103, %133 : tensor<2x4x4xcomplex<f64>>
    %135:5 = stablehlo.custom_call @lapack_zhetrd_ffi(%134) {mhlo.backend_config = {uplo = 85 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 0]> : tensor<2xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x4xcomplex<f64>>) -> (tensor<2x4x4xcomplex<f64>>, tensor<2x4xf64>, tensor<2x3xf64>, tensor<2x3xcomplex<f64>>, tensor<2xi32>)
    %136 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %137 = stablehlo.compare EQ, %135#4, %136, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %138 = stablehlo.broadcast_in_dim %137, dims = [0] : (tensor<2xi1>) -> tensor<2x1xi1>
    %139 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f64>) -> tensor<2x4xf64>
    %140 = stablehlo.broadcast_in_dim %138, dims = [0, 1] : (tensor<2x1xi1>) -> tensor<2x4xi1>
    %141 = stablehlo.select %140, %135#1, %139 : tensor<2x4xi1>, tensor<2x4xf64>
    %142 = stablehlo.real %116 : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xf64>
    %143 = stablehlo.imag %116 : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xf64>
    %144 = stablehlo.real %128 : (tensor<2x3xcomplex<f64>>) -> tensor<2x3xf64>
    %145 = stablehlo.imag %128 : (tensor<2x3xcomplex<f64>>) -> tensor<2x3xf64>
    return %8, %12, %16, %20, %29, %69, %70, %47, %51, %71, %72, %68, %81, %85, %89, %93, %102, %142, %143, %120, %124, %144, %145, %141 : tensor<2x4x4xf32>, tensor<2x4xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x4xf32>, tensor<2x4x4xf32>, tensor<2x4x4xf32>, tensor<2x4xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x4xf32>, tensor<2x4x4xf64>, tensor<2x4xf64>, tensor<2x3xf64>, tensor<2x3xf64>, tensor<2x4xf64>, tensor<2x4x4xf64>, tensor<2x4x4xf64>, tensor<2x4xf64>, tensor<2x3xf64>, tensor<2x3xf64>, tensor<2x3xf64>, tensor<2x4xf64>
  }
}
