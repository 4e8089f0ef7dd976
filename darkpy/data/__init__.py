"""Lists, labels, pictures, augmentation and the loader."""
