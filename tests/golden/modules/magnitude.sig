arg f32 3,2 z
result f32 3 magnitude
