#loc = loc(unknown)
#loc1 = loc("x")
module @jit_scale attributes {jax.uses_shape_polymorphism = true, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<i32> {jax.global_constant = "_platform_index"} loc(unknown), %arg1: tensor<3xf32> loc("x")) -> (tensor<3xf32> {jax.result_info = "result"}) {
    %cst = stablehlo.constant dense<5.000000e+00> : tensor<f32> loc(#loc)
    %cst_0 = stablehlo.constant dense<2.000000e+00> : tensor<f32> loc(#loc)
    %cst_1 = stablehlo.constant dense<3.000000e+00> : tensor<f32> loc(#loc)
    %c = stablehlo.constant dense<1> : tensor<i32> loc(#loc)
    %c_2 = stablehlo.constant dense<2> : tensor<i32> loc(#loc)
    %c_3 = stablehlo.constant dense<0> : tensor<i32> loc(#loc)
    %0 = "stablehlo.case"(%arg0) ({
      stablehlo.return %c_3 : tensor<i32> loc(#loc20)
    }, {
      stablehlo.return %c_2 : tensor<i32> loc(#loc20)
    }, {
      stablehlo.return %c : tensor<i32> loc(#loc20)
    }) : (tensor<i32>) -> tensor<i32> loc(#loc20)
    %1 = "stablehlo.case"(%0) ({
      stablehlo.return %c_3 : tensor<i32> loc(#loc20)
    }, {
      stablehlo.return %c : tensor<i32> loc(#loc20)
    }, {
      stablehlo.return %c_2 : tensor<i32> loc(#loc20)
    }) : (tensor<i32>) -> tensor<i32> loc(#loc20)
    %2 = "stablehlo.case"(%1) ({
      stablehlo.return %c_3 : tensor<i32> loc(#loc21)
    }, {
      stablehlo.return %c_2 : tensor<i32> loc(#loc21)
    }, {
      stablehlo.return %c : tensor<i32> loc(#loc21)
    }) : (tensor<i32>) -> tensor<i32> loc(#loc21)
    %3 = "stablehlo.case"(%2) ({
      %4 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<3xf32> loc(#loc25)
      %5 = stablehlo.multiply %arg1, %4 : tensor<3xf32> loc(#loc25)
      stablehlo.return %5 : tensor<3xf32> loc(#loc21)
    }, {
      %4 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<3xf32> loc(#loc26)
      %5 = stablehlo.multiply %arg1, %4 : tensor<3xf32> loc(#loc26)
      stablehlo.return %5 : tensor<3xf32> loc(#loc21)
    }, {
      %4 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<3xf32> loc(#loc27)
      %5 = stablehlo.multiply %arg1, %4 : tensor<3xf32> loc(#loc27)
      stablehlo.return %5 : tensor<3xf32> loc(#loc21)
    }) : (tensor<i32>) -> tensor<3xf32> loc(#loc21)
    return %3 : tensor<3xf32> loc(#loc19)
  } loc(#loc)
} loc(#loc)
#loc2 = loc("export.py":64:15 to :108)
#loc3 = loc("export.py":69:15 to :118)
#loc4 = loc("export.py":59:4 to :17)
#loc5 = loc("export.py":78:0)
#loc6 = loc("export.py":64:60 to :65)
#loc7 = loc("export.py":64:102 to :107)
#loc8 = loc("export.py":64:81 to :86)
#loc9 = loc("by_platform.<locals>.scale"(#loc2))
#loc10 = loc("by_platform"(#loc3))
#loc11 = loc("main"(#loc4))
#loc12 = loc("<module>"(#loc5))
#loc13 = loc("by_platform.<locals>.scale.<locals>.<lambda>"(#loc6))
#loc14 = loc("by_platform.<locals>.scale.<locals>.<lambda>"(#loc7))
#loc15 = loc("by_platform.<locals>.scale.<locals>.<lambda>"(#loc8))
#loc16 = loc(callsite(#loc11 at #loc12))
#loc17 = loc(callsite(#loc10 at #loc16))
#loc18 = loc(callsite(#loc9 at #loc17))
#loc19 = loc("jit(scale)"(#loc17))
#loc20 = loc("jit(scale)/platform_index"(#loc18))
#loc21 = loc("jit(scale)/cond"(#loc18))
#loc22 = loc(callsite(#loc13 at #loc18))
#loc23 = loc(callsite(#loc14 at #loc18))
#loc24 = loc(callsite(#loc15 at #loc18))
#loc25 = loc("jit(scale)/cond/branch_0_fun/mul"(#loc22))
#loc26 = loc("jit(scale)/cond/branch_1_fun/mul"(#loc23))
#loc27 = loc("jit(scale)/cond/branch_2_fun/mul"(#loc24))
