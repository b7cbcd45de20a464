"""LightningModules (one per task), callbacks and optimisers."""
