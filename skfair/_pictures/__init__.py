"""What pictures are made of: styles, axes and legends, and pictures of results.

Results below `skfair.inspection` draw themselves by it. It needs matplotlib.
"""
