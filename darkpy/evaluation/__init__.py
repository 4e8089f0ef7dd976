"""Detections against truths: matching, curves and mAP."""
