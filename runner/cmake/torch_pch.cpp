// Carries the precompiled LibTorch header; holds no code.
