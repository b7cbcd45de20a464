"""LightningModules (one per task), callbacks and optimizers."""
