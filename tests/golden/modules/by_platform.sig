arg s32 - _platform_index
arg f32 3 x
result f32 3 result
