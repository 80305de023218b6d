module @jit_train_step attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2xf32> loc("length"), %arg1: tensor<f32> loc("mean"), %arg2: tensor<f32> loc("noise"), %arg3: tensor<f32> loc("signal"), %arg4: tensor<16x2xf32> loc("x"), %arg5: tensor<16xf32> loc("y")) -> (tensor<f32> {jax.result_info = "loss"}, tensor<2xf32> {jax.result_info = "gradient length"}, tensor<f32> {jax.result_info = "gradient mean"}, tensor<f32> {jax.result_info = "gradient noise"}, tensor<f32> {jax.result_info = "gradient signal"}) {
    %cst = stablehlo.constant dense<1.600000e+01> : tensor<f32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %cst_1 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %cst_2 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %arg4, dims = [0, 2] : (tensor<16x2xf32>) -> tensor<16x1x2xf32>
    %1 = stablehlo.broadcast_in_dim %arg4, dims = [1, 2] : (tensor<16x2xf32>) -> tensor<1x16x2xf32>
    %2 = stablehlo.broadcast_in_dim %0, dims = [0, 1, 2] : (tensor<16x1x2xf32>) -> tensor<16x16x2xf32>
    %3 = stablehlo.broadcast_in_dim %1, dims = [0, 1, 2] : (tensor<1x16x2xf32>) -> tensor<16x16x2xf32>
    %4 = stablehlo.subtract %2, %3 : tensor<16x16x2xf32>
    %5 = stablehlo.exponential %arg0 : tensor<2xf32>
    %6 = stablehlo.broadcast_in_dim %5, dims = [2] : (tensor<2xf32>) -> tensor<1x1x2xf32>
    %7 = stablehlo.broadcast_in_dim %6, dims = [0, 1, 2] : (tensor<1x1x2xf32>) -> tensor<16x16x2xf32>
    %8 = stablehlo.divide %4, %7 : tensor<16x16x2xf32>
    %9 = stablehlo.multiply %6, %6 : tensor<1x1x2xf32>
    %10 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<1x1x2xf32>
    %11 = stablehlo.divide %10, %9 : tensor<1x1x2xf32>
    %12 = stablehlo.multiply %8, %8 : tensor<16x16x2xf32>
    %13 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<16x16x2xf32>
    %14 = stablehlo.multiply %13, %8 : tensor<16x16x2xf32>
    %15 = stablehlo.reduce(%12 init: %cst_0) applies stablehlo.add across dimensions = [2] : (tensor<16x16x2xf32>, tensor<f32>) -> tensor<16x16xf32>
    %16 = stablehlo.exponential %arg3 : tensor<f32>
    %17 = stablehlo.negate %15 : tensor<16x16xf32>
    %18 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<16x16xf32>
    %19 = stablehlo.divide %17, %18 : tensor<16x16xf32>
    %20 = stablehlo.exponential %19 : tensor<16x16xf32>
    %21 = stablehlo.broadcast_in_dim %16, dims = [] : (tensor<f32>) -> tensor<16x16xf32>
    %22 = stablehlo.multiply %21, %20 : tensor<16x16xf32>
    %23 = stablehlo.exponential %arg2 : tensor<f32>
    %24 = stablehlo.iota dim = 0 : tensor<16x16xi32>
    %25 = stablehlo.iota dim = 1 : tensor<16x16xi32>
    %26 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<16x16xi32>
    %27 = stablehlo.add %24, %26 : tensor<16x16xi32>
    %28 = stablehlo.compare EQ, %27, %25, SIGNED : (tensor<16x16xi32>, tensor<16x16xi32>) -> tensor<16x16xi1>
    %29 = stablehlo.convert %28 : (tensor<16x16xi1>) -> tensor<16x16xf32>
    %30 = stablehlo.broadcast_in_dim %23, dims = [] : (tensor<f32>) -> tensor<16x16xf32>
    %31 = stablehlo.multiply %30, %29 : tensor<16x16xf32>
    %32 = stablehlo.add %22, %31 : tensor<16x16xf32>
    %33:7 = call @cholesky(%32) : (tensor<16x16xf32>) -> (tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xi1>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xi1>, tensor<16x16xf32>)
    %34 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %35 = stablehlo.subtract %arg5, %34 : tensor<16xf32>
    %36:4 = call @_solve_triangular(%33#0, %35) : (tensor<16x16xf32>, tensor<16xf32>) -> (tensor<16xf32>, tensor<16x16xi1>, tensor<16x16xf32>, tensor<16x1xf32>)
    %37 = stablehlo.multiply %36#0, %36#0 : tensor<16xf32>
    %38 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %39 = stablehlo.multiply %38, %36#0 : tensor<16xf32>
    %40 = stablehlo.reduce(%37 init: %cst_0) applies stablehlo.add across dimensions = [0] : (tensor<16xf32>, tensor<f32>) -> tensor<f32>
    %41 = stablehlo.divide %40, %cst_1 : tensor<f32>
    %42:4 = call @_diag(%33#0) : (tensor<16x16xf32>) -> (tensor<16xf32>, tensor<i32>, tensor<16x16xf32>, tensor<16x2xi32>)
    %43 = stablehlo.log %42#0 : tensor<16xf32>
    %44 = stablehlo.reduce(%43 init: %cst_0) applies stablehlo.add across dimensions = [0] : (tensor<16xf32>, tensor<f32>) -> tensor<f32>
    %45 = stablehlo.add %41, %44 : tensor<f32>
    %46 = stablehlo.divide %45, %cst : tensor<f32>
    %47 = stablehlo.divide %cst_2, %cst : tensor<f32>
    %48 = stablehlo.broadcast_in_dim %47, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %49 = stablehlo.divide %48, %42#0 : tensor<16xf32>
    %50 = call @_diag_0(%42#1, %42#2, %42#3, %49) : (tensor<i32>, tensor<16x16xf32>, tensor<16x2xi32>, tensor<16xf32>) -> tensor<16x16xf32>
    %51 = stablehlo.divide %47, %cst_1 : tensor<f32>
    %52 = stablehlo.broadcast_in_dim %51, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %53 = stablehlo.multiply %52, %39 : tensor<16xf32>
    %54:2 = call @_solve_triangular_2(%36#1, %36#2, %36#3, %33#0, %53) : (tensor<16x16xi1>, tensor<16x16xf32>, tensor<16x1xf32>, tensor<16x16xf32>, tensor<16xf32>) -> (tensor<16x16xf32>, tensor<16xf32>)
    %55 = stablehlo.add %50, %54#0 : tensor<16x16xf32>
    %56 = stablehlo.reduce(%54#1 init: %cst_0) applies stablehlo.add across dimensions = [0] : (tensor<16xf32>, tensor<f32>) -> tensor<f32>
    %57 = stablehlo.negate %56 : tensor<f32>
    %58 = call @cholesky_3(%33#1, %33#2, %33#3, %33#4, %33#5, %33#6, %55) : (tensor<16x16xf32>, tensor<16x16xi1>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xi1>, tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
    %59 = stablehlo.multiply %58, %29 : tensor<16x16xf32>
    %60 = stablehlo.reduce(%59 init: %cst_0) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x16xf32>, tensor<f32>) -> tensor<f32>
    %61 = stablehlo.multiply %60, %23 : tensor<f32>
    %62 = stablehlo.broadcast_in_dim %16, dims = [] : (tensor<f32>) -> tensor<16x16xf32>
    %63 = stablehlo.multiply %62, %58 : tensor<16x16xf32>
    %64 = stablehlo.multiply %58, %20 : tensor<16x16xf32>
    %65 = stablehlo.reduce(%64 init: %cst_0) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x16xf32>, tensor<f32>) -> tensor<f32>
    %66 = stablehlo.multiply %63, %20 : tensor<16x16xf32>
    %67 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<16x16xf32>
    %68 = stablehlo.divide %66, %67 : tensor<16x16xf32>
    %69 = stablehlo.negate %68 : tensor<16x16xf32>
    %70 = stablehlo.multiply %65, %16 : tensor<f32>
    %71 = stablehlo.broadcast_in_dim %69, dims = [0, 1] : (tensor<16x16xf32>) -> tensor<16x16x2xf32>
    %72 = stablehlo.multiply %71, %14 : tensor<16x16x2xf32>
    %73 = stablehlo.broadcast_in_dim %11, dims = [0, 1, 2] : (tensor<1x1x2xf32>) -> tensor<16x16x2xf32>
    %74 = stablehlo.multiply %72, %73 : tensor<16x16x2xf32>
    %75 = stablehlo.multiply %74, %4 : tensor<16x16x2xf32>
    %76 = stablehlo.reduce(%75 init: %cst_0) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x16x2xf32>, tensor<f32>) -> tensor<2xf32>
    %77 = stablehlo.reshape %76 : (tensor<2xf32>) -> tensor<1x1x2xf32>
    %78 = stablehlo.negate %77 : tensor<1x1x2xf32>
    %79 = stablehlo.reduce(%78 init: %cst_0) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x2xf32>, tensor<f32>) -> tensor<2xf32>
    %80 = stablehlo.multiply %79, %5 : tensor<2xf32>
    return %46, %80, %57, %61, %70 : tensor<f32>, tensor<2xf32>, tensor<f32>, tensor<f32>, tensor<f32>
  }
  func.func private @cholesky(%arg0: tensor<16x16xf32>) -> (tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xi1>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xi1>, tensor<16x16xf32>) {
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %cst_1 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %cst_2 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %0 = stablehlo.transpose %arg0, dims = [1, 0] : (tensor<16x16xf32>) -> tensor<16x16xf32>
    %1 = stablehlo.add %arg0, %0 : tensor<16x16xf32>
    %2 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<16x16xf32>
    %3 = stablehlo.divide %1, %2 : tensor<16x16xf32>
    %4:2 = stablehlo.custom_call @lapack_spotrf_ffi(%3) {mhlo.backend_config = {uplo = 76 : ui8}, mhlo.frontend_attributes = {num_batch_dims = "0"}, operand_layouts = [dense<[0, 1]> : tensor<2xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<> : tensor<0xindex>], sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([k, l], []) {i=16, j=16, k=16, l=16}, custom>} : (tensor<16x16xf32>) -> (tensor<16x16xf32>, tensor<i32>)
    %5 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<i32>
    %6 = stablehlo.compare EQ, %4#1, %5, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %7 = stablehlo.broadcast_in_dim %6, dims = [] : (tensor<i1>) -> tensor<1x1xi1>
    %8 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<16x16xf32>
    %9 = stablehlo.broadcast_in_dim %7, dims = [0, 1] : (tensor<1x1xi1>) -> tensor<16x16xi1>
    %10 = stablehlo.select %9, %4#0, %8 : tensor<16x16xi1>, tensor<16x16xf32>
    %11 = stablehlo.iota dim = 0 : tensor<16x16xi32>
    %12 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<16x16xi32>
    %13 = stablehlo.add %11, %12 : tensor<16x16xi32>
    %14 = stablehlo.iota dim = 1 : tensor<16x16xi32>
    %15 = stablehlo.compare GE, %13, %14, SIGNED : (tensor<16x16xi32>, tensor<16x16xi32>) -> tensor<16x16xi1>
    %16 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<16x16xf32>
    %17 = stablehlo.select %15, %10, %16 : tensor<16x16xi1>, tensor<16x16xf32>
    %18 = stablehlo.iota dim = 0 : tensor<16x16xi32>
    %19 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<16x16xi32>
    %20 = stablehlo.add %18, %19 : tensor<16x16xi32>
    %21 = stablehlo.iota dim = 1 : tensor<16x16xi32>
    %22 = stablehlo.compare GE, %20, %21, SIGNED : (tensor<16x16xi32>, tensor<16x16xi32>) -> tensor<16x16xi1>
    %23 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<16x16xf32>
    %24 = stablehlo.iota dim = 0 : tensor<16x16xi32>
    %25 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<16x16xi32>
    %26 = stablehlo.add %24, %25 : tensor<16x16xi32>
    %27 = stablehlo.iota dim = 1 : tensor<16x16xi32>
    %28 = stablehlo.compare EQ, %26, %27, SIGNED : (tensor<16x16xi32>, tensor<16x16xi32>) -> tensor<16x16xi1>
    %29 = stablehlo.convert %28 : (tensor<16x16xi1>) -> tensor<16x16xf32>
    %30 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<16x16xf32>
    %31 = stablehlo.add %30, %29 : tensor<16x16xf32>
    %32 = stablehlo.iota dim = 0 : tensor<16x16xi32>
    %33 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<16x16xi32>
    %34 = stablehlo.add %32, %33 : tensor<16x16xi32>
    %35 = stablehlo.iota dim = 1 : tensor<16x16xi32>
    %36 = stablehlo.compare GE, %34, %35, SIGNED : (tensor<16x16xi32>, tensor<16x16xi32>) -> tensor<16x16xi1>
    %37 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<16x16xf32>
    %38 = stablehlo.select %36, %17, %37 : tensor<16x16xi1>, tensor<16x16xf32>
    %39 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<16x16xf32>
    return %38, %17, %22, %23, %31, %36, %39 : tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xi1>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xi1>, tensor<16x16xf32>
  }
  func.func private @_solve_triangular(%arg0: tensor<16x16xf32>, %arg1: tensor<16xf32>) -> (tensor<16xf32>, tensor<16x16xi1>, tensor<16x16xf32>, tensor<16x1xf32>) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [0] : (tensor<16xf32>) -> tensor<16x1xf32>
    %1 = stablehlo.custom_call @lapack_strsm_ffi(%arg0, %0) {mhlo.backend_config = {diag = 78 : ui8, side = 76 : ui8, trans_x = 78 : ui8, uplo = 76 : ui8}, mhlo.frontend_attributes = {num_batch_dims = "0"}, operand_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<[0, 1]> : tensor<2xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 1, operand_tuple_indices = []>], result_layouts = [dense<[0, 1]> : tensor<2xindex>], sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [k, l])->([m, n]) {i=16, j=16, k=16, l=1, m=16, n=1}, custom>} : (tensor<16x16xf32>, tensor<16x1xf32>) -> tensor<16x1xf32>
    %2 = stablehlo.iota dim = 0 : tensor<16x16xi32>
    %3 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<16x16xi32>
    %4 = stablehlo.add %2, %3 : tensor<16x16xi32>
    %5 = stablehlo.iota dim = 1 : tensor<16x16xi32>
    %6 = stablehlo.compare GE, %4, %5, SIGNED : (tensor<16x16xi32>, tensor<16x16xi32>) -> tensor<16x16xi1>
    %7 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<16x16xf32>
    %8 = stablehlo.reshape %1 : (tensor<16x1xf32>) -> tensor<16xf32>
    return %8, %6, %7, %1 : tensor<16xf32>, tensor<16x16xi1>, tensor<16x16xf32>, tensor<16x1xf32>
  }
  func.func private @_diag(%arg0: tensor<16x16xf32>) -> (tensor<16xf32>, tensor<i32>, tensor<16x16xf32>, tensor<16x2xi32>) {
    %0:4 = call @diagonal(%arg0) : (tensor<16x16xf32>) -> (tensor<16xf32>, tensor<i32>, tensor<16x16xf32>, tensor<16x2xi32>)
    return %0#0, %0#1, %0#2, %0#3 : tensor<16xf32>, tensor<i32>, tensor<16x16xf32>, tensor<16x2xi32>
  }
  func.func private @diagonal(%arg0: tensor<16x16xf32>) -> (tensor<16xf32>, tensor<i32>, tensor<16x16xf32>, tensor<16x2xi32>) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %c = stablehlo.constant dense<16> : tensor<i32>
    %c_0 = stablehlo.constant dense<1> : tensor<i32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %0 = "stablehlo.case"(%c_0) ({
      stablehlo.return %c_1 : tensor<i32>
    }, {
      stablehlo.return %c_1 : tensor<i32>
    }) : (tensor<i32>) -> tensor<i32>
    %1:3 = "stablehlo.case"(%0) ({
      %2 = stablehlo.iota dim = 0 : tensor<16xi32>
      %3 = stablehlo.iota dim = 0 : tensor<16xi32>
      %4 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<i32>) -> tensor<16xi32>
      %5 = stablehlo.compare LT, %2, %4, SIGNED : (tensor<16xi32>, tensor<16xi32>) -> tensor<16xi1>
      %6 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<16xi32>
      %7 = stablehlo.add %2, %6 : tensor<16xi32>
      %8 = stablehlo.select %5, %7, %2 : tensor<16xi1>, tensor<16xi32>
      %9 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<i32>) -> tensor<16xi32>
      %10 = stablehlo.compare LT, %3, %9, SIGNED : (tensor<16xi32>, tensor<16xi32>) -> tensor<16xi1>
      %11 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<16xi32>
      %12 = stablehlo.add %3, %11 : tensor<16xi32>
      %13 = stablehlo.select %10, %12, %3 : tensor<16xi1>, tensor<16xi32>
      %14 = stablehlo.broadcast_in_dim %8, dims = [0] : (tensor<16xi32>) -> tensor<16x1xi32>
      %15 = stablehlo.broadcast_in_dim %13, dims = [0] : (tensor<16xi32>) -> tensor<16x1xi32>
      %16 = stablehlo.concatenate %14, %15, dim = 1 : (tensor<16x1xi32>, tensor<16x1xi32>) -> tensor<16x2xi32>
      %17 = "stablehlo.gather"(%arg0, %16) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<16x16xf32>, tensor<16x2xi32>) -> tensor<16xf32>
      %18 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<16x16xf32>
      stablehlo.return %17, %18, %16 : tensor<16xf32>, tensor<16x16xf32>, tensor<16x2xi32>
    }) : (tensor<i32>) -> (tensor<16xf32>, tensor<16x16xf32>, tensor<16x2xi32>)
    return %1#0, %c_0, %1#1, %1#2 : tensor<16xf32>, tensor<i32>, tensor<16x16xf32>, tensor<16x2xi32>
  }
  func.func private @_diag_0(%arg0: tensor<i32>, %arg1: tensor<16x16xf32>, %arg2: tensor<16x2xi32>, %arg3: tensor<16xf32>) -> tensor<16x16xf32> {
    %0 = call @diagonal_1(%arg0, %arg1, %arg2, %arg3) : (tensor<i32>, tensor<16x16xf32>, tensor<16x2xi32>, tensor<16xf32>) -> tensor<16x16xf32>
    return %0 : tensor<16x16xf32>
  }
  func.func private @diagonal_1(%arg0: tensor<i32>, %arg1: tensor<16x16xf32>, %arg2: tensor<16x2xi32>, %arg3: tensor<16xf32>) -> tensor<16x16xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = "stablehlo.case"(%arg0) ({
      stablehlo.return %c : tensor<i32>
    }, {
      stablehlo.return %c : tensor<i32>
    }) : (tensor<i32>) -> tensor<i32>
    %1 = "stablehlo.case"(%0) ({
      %2 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<16x16xf32>
      %3 = "stablehlo.scatter"(%2, %arg2, %arg3) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>}> ({
      ^bb0(%arg4: tensor<f32>, %arg5: tensor<f32>):
        %4 = stablehlo.add %arg4, %arg5 : tensor<f32>
        stablehlo.return %4 : tensor<f32>
      }) : (tensor<16x16xf32>, tensor<16x2xi32>, tensor<16xf32>) -> tensor<16x16xf32>
      stablehlo.return %3 : tensor<16x16xf32>
    }) : (tensor<i32>) -> tensor<16x16xf32>
    return %1 : tensor<16x16xf32>
  }
  func.func private @_solve_triangular_2(%arg0: tensor<16x16xi1>, %arg1: tensor<16x16xf32>, %arg2: tensor<16x1xf32>, %arg3: tensor<16x16xf32>, %arg4: tensor<16xf32>) -> (tensor<16x16xf32>, tensor<16xf32>) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %arg4, dims = [0] : (tensor<16xf32>) -> tensor<16x1xf32>
    %1 = stablehlo.custom_call @lapack_strsm_ffi(%arg3, %0) {mhlo.backend_config = {diag = 78 : ui8, side = 76 : ui8, trans_x = 84 : ui8, uplo = 76 : ui8}, mhlo.frontend_attributes = {num_batch_dims = "0"}, operand_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<[0, 1]> : tensor<2xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 1, operand_tuple_indices = []>], result_layouts = [dense<[0, 1]> : tensor<2xindex>], sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [k, l])->([m, n]) {i=16, j=16, k=16, l=1, m=16, n=1}, custom>} : (tensor<16x16xf32>, tensor<16x1xf32>) -> tensor<16x1xf32>
    %2 = stablehlo.custom_call @lapack_strsm_ffi(%arg3, %0) {mhlo.backend_config = {diag = 78 : ui8, side = 76 : ui8, trans_x = 84 : ui8, uplo = 76 : ui8}, mhlo.frontend_attributes = {num_batch_dims = "0"}, operand_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<[0, 1]> : tensor<2xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 1, operand_tuple_indices = []>], result_layouts = [dense<[0, 1]> : tensor<2xindex>], sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [k, l])->([m, n]) {i=16, j=16, k=16, l=1, m=16, n=1}, custom>} : (tensor<16x16xf32>, tensor<16x1xf32>) -> tensor<16x1xf32>
    %3 = stablehlo.dot_general %2, %arg2, contracting_dims = [1] x [1], precision = [HIGHEST, HIGHEST] : (tensor<16x1xf32>, tensor<16x1xf32>) -> tensor<16x16xf32>
    %4 = stablehlo.negate %3 : tensor<16x16xf32>
    %5 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<16x16xf32>
    %6 = stablehlo.select %arg0, %4, %5 : tensor<16x16xi1>, tensor<16x16xf32>
    %7 = stablehlo.reduce(%1 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<16x1xf32>, tensor<f32>) -> tensor<16xf32>
    return %6, %7 : tensor<16x16xf32>, tensor<16xf32>
  }
  func.func private @cholesky_3(%arg0: tensor<16x16xf32>, %arg1: tensor<16x16xi1>, %arg2: tensor<16x16xf32>, %arg3: tensor<16x16xf32>, %arg4: tensor<16x16xi1>, %arg5: tensor<16x16xf32>, %arg6: tensor<16x16xf32>) -> tensor<16x16xf32> {
    %cst = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<16x16xf32>
    %1 = stablehlo.select %arg4, %arg6, %0 : tensor<16x16xi1>, tensor<16x16xf32>
    %2 = stablehlo.dot_general %1, %arg0, contracting_dims = [0] x [0], precision = [HIGHEST, HIGHEST] : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
    %3 = stablehlo.transpose %2, dims = [1, 0] : (tensor<16x16xf32>) -> tensor<16x16xf32>
    %4 = stablehlo.divide %3, %arg3 : tensor<16x16xf32>
    %5 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<16x16xf32>
    %6 = stablehlo.select %arg1, %4, %5 : tensor<16x16xi1>, tensor<16x16xf32>
    %7 = stablehlo.custom_call @lapack_strsm_ffi(%arg0, %6) {mhlo.backend_config = {diag = 78 : ui8, side = 76 : ui8, trans_x = 84 : ui8, uplo = 76 : ui8}, mhlo.frontend_attributes = {num_batch_dims = "0"}, operand_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<[0, 1]> : tensor<2xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 1, operand_tuple_indices = []>], result_layouts = [dense<[0, 1]> : tensor<2xindex>], sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [k, l])->([m, n]) {i=16, j=16, k=16, l=16, m=16, n=16}, custom>} : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
    %8 = stablehlo.custom_call @lapack_strsm_ffi(%arg0, %7) {mhlo.backend_config = {diag = 78 : ui8, side = 82 : ui8, trans_x = 78 : ui8, uplo = 76 : ui8}, mhlo.frontend_attributes = {num_batch_dims = "0"}, operand_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<[0, 1]> : tensor<2xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 1, operand_tuple_indices = []>], result_layouts = [dense<[0, 1]> : tensor<2xindex>], sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [k, l])->([m, n]) {i=16, j=16, k=16, l=16, m=16, n=16}, custom>} : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
    %9 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<16x16xf32>
    %10 = stablehlo.divide %8, %9 : tensor<16x16xf32>
    %11 = stablehlo.transpose %10, dims = [1, 0] : (tensor<16x16xf32>) -> tensor<16x16xf32>
    %12 = stablehlo.add %10, %11 : tensor<16x16xf32>
    return %12 : tensor<16x16xf32>
  }
}
