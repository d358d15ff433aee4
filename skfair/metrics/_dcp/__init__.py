"""Disparate conditional prediction (DCP) with known confusion matrices.

_confusion      the statistic that a metric was given
_inputs         checks of matrices and frequencies
_rows           loss and bounds of one row of the baseline
_enumeration    the best row exactly, vertex by vertex
_local          a good row, by exact line searches
_relaxation     a linear program that bounds a box of rows
_branch_and_bound   the best row with a certificate
_paper          the paper's own upper bounds
_solve          which method solves which row, and when it must end
_result, _bounds, _metric   the public face
"""
