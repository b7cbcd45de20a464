"""LightningDataModules, dataset readers, collators and the resumable loader."""
