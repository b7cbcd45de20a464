"""Models as ONNX files and `torch.export` programs, in folders that are used without ctxzoo; knows no problem."""
