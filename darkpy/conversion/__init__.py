"""Data sets of other forms (VOC, COCO, folders) to and from darknet's lists and label files."""
