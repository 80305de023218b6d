module @jit_whole attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x4x4xf32>, %arg1: tensor<2x4x4xf32>, %arg2: tensor<2x4x3xf32>, %arg3: tensor<2x4x3xf32>, %arg4: tensor<2x4x4xf64>, %arg5: tensor<2x4x4xf64>, %arg6: tensor<2x4x3xf64>, %arg7: tensor<2x4x3xf64>) -> (tensor<2x4x4xf32> {jax.result_info = "result[0]"}, tensor<2x3xf32> {jax.result_info = "result[1]"}, tensor<2x4x4xf32> {jax.result_info = "result[2]"}, tensor<2x4x4xf32> {jax.result_info = "result[3]"}, tensor<2x3xf32> {jax.result_info = "result[4]"}, tensor<2x3xf32> {jax.result_info = "result[5]"}, tensor<2x4x4xf64> {jax.result_info = "result[6]"}, tensor<2x3xf64> {jax.result_info = "result[7]"}, tensor<2x4x4xf64> {jax.result_info = "result[8]"}, tensor<2x4x4xf64> {jax.result_info = "result[9]"}, tensor<2x3xf64> {jax.result_info = "result[10]"}, tensor<2x3xf64> {jax.result_info = "result[11]"}) {
    %cst = stablehlo.constant dense<(0x7FF8000000000000,0x7FF8000000000000)> : tensor<complex<f64>>
    %cst_0 = stablehlo.constant dense<0x7FF8000000000000> : tensor<f64>
    %cst_1 = stablehlo.constant dense<(0x7FC00000,0x7FC00000)> : tensor<complex<f32>>
    %cst_2 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0:3 = stablehlo.custom_call @lapack_sgehrd_ffi(%arg0) {mhlo.backend_config = {high = 4 : i32, low = 1 : i32}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x4xf32>) -> (tensor<2x4x4xf32>, tensor<2x3xf32>, tensor<2xi32>)
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %2 = stablehlo.compare EQ, %0#2, %1, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %4 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<2x4x4xf32>
    %5 = stablehlo.broadcast_in_dim %3, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x4x4xi1>
    %6 = stablehlo.select %5, %0#0, %4 : tensor<2x4x4xi1>, tensor<2x4x4xf32>
    %7 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<2xi1>) -> tensor<2x1xi1>
    %8 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
    %9 = stablehlo.broadcast_in_dim %7, dims = [0, 1] : (tensor<2x1xi1>) -> tensor<2x3xi1>
    %10 = stablehlo.select %9, %0#1, %8 : tensor<2x3xi1>, tensor<2x3xf32>
    %11 = stablehlo.complex %arg0, %arg1 : tensor<2x4x4xcomplex<f32>>
    %12:3 = stablehlo.custom_call @lapack_cgehrd_ffi(%11) {mhlo.backend_config = {high = 4 : i32, low = 1 : i32}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x4xcomplex<f32>>) -> (tensor<2x4x4xcomplex<f32>>, tensor<2x3xcomplex<f32>>, tensor<2xi32>)
    %13 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %14 = stablehlo.compare EQ, %12#2, %13, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %15 = stablehlo.broadcast_in_dim %14, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %16 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<complex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %17 = stablehlo.broadcast_in_dim %15, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x4x4xi1>
    %18 = stablehlo.select %17, %12#0, %16 : tensor<2x4x4xi1>, tensor<2x4x4xcomplex<f32>>
    %19 = stablehlo.broadcast_in_dim %14, dims = [0] : (tensor<2xi1>) -> tensor<2x1xi1>
    %20 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<complex<f32>>) -> tensor<2x3xcomplex<f32>>
    %21 = stablehlo.broadcast_in_dim %19, dims = [0, 1] : (tensor<2x1xi1>) -> tensor<2x3xi1>
    %22 = stablehlo.select %21, %12#1, %20 : tensor<2x3xi1>, tensor<2x3xcomplex<f32>>
    %23 = stablehlo.real %18 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %24 = stablehlo.imag %18 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %25 = stablehlo.real %22 : (tensor<2x3xcomplex<f32>>) -> tensor<2x3xf32>
    %26 = stablehlo.imag %22 : (tensor<2x3xcomplex<f32>>) -> tensor<2x3xf32>
    %27:3 = stablehlo.custom_call @lapack_dgehrd_ffi(%arg4) {mhlo.backend_config = {high = 4 : i32, low = 1 : i32}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x4xf64>) -> (tensor<2x4x4xf64>, tensor<2x3xf64>, tensor<2xi32>)
    %28 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %29 = stablehlo.compare EQ, %27#2, %28, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %30 = stablehlo.broadcast_in_dim %29, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %31 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f64>) -> tensor<2x4x4xf64>
    %32 = stablehlo.broadcast_in_dim %30, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x4x4xi1>
    %33 = stablehlo.select %32, %27#0, %31 : tensor<2x4x4xi1>, tensor<2x4x4xf64>
    %34 = stablehlo.broadcast_in_dim %29, dims = [0] : (tensor<2xi1>) -> tensor<2x1xi1>
    %35 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f64>) -> tensor<2x3xf64>
    %36 = stablehlo.broadcast_in_dim %34, dims = [0, 1] : (tensor<2x1xi1>) -> tensor<2x3xi1>
    %37 = stablehlo.select %36, %27#1, %35 : tensor<2x3xi1>, tensor<2x3xf64>
    %38 = stablehlo.complex %arg4, %arg5 : tensor<2x4x4xcomplex<f64>>
    %39:3 = stablehlo.custom_call @lapack_zgehrd_ffi(%38) {mhlo.backend_config = {high = 4 : i32, low = 1 : i32}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x4xcomplex<f64>>) -> (tensor<2x4x4xcomplex<f64>>, tensor<2x3xcomplex<f64>>, tensor<2xi32>)
    %40 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %41 = stablehlo.compare EQ, %39#2, %40, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %42 = stablehlo.broadcast_in_dim %41, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %43 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<complex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %44 = stablehlo.broadcast_in_dim %42, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x4x4xi1>
    %45 = stablehlo.select %44, %39#0, %43 : tensor<2x4x4xi1>, tensor<2x4x4xcomplex<f64>>
    %46 = stablehlo.broadcast_in_dim %41, dims = [0] : (tensor<2xi1>) -> tensor<2x1xi1>
    %47 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<complex<f64>>) -> tensor<2x3xcomplex<f64>>
    %48 = stablehlo.broadcast_in_dim %46, dims = [0, 1] : (tensor<2x1xi1>) -> tensor<2x3xi1>
    %49 = stablehlo.select %48, %39#1, %47 : tensor<2x3xi1>, tensor<2x3xcomplex<f64>>
    %50 = stablehlo.real %45 : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xf64>
    %51 = stablehlo.imag %45 : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xf64>
    %52 = stablehlo.real %49 : (tensor<2x3xcomplex<f64>>) -> tensor<2x3xf64>
    %53 = stablehlo.imag %49 : (tensor<2x3xcomplex<f64>>) -> tensor<2x3xf64>
    return %6, %10, %23, %24, %25, %26, %33, %37, %50, %51, %52, %53 : tensor<2x4x4xf32>, tensor<2x3xf32>, tensor<2x4x4xf32>, tensor<2x4x4xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x4x4xf64>, tensor<2x3xf64>, tensor<2x4x4xf64>, tensor<2x4x4xf64>, tensor<2x3xf64>, tensor<2x3xf64>
  }
}
