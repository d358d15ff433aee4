"""Solvers of DCP: the best row of the baseline for one true class.

_solve              which method solves which class, and in how much time
_rows               loss of a row, and a lower bound from merged classes
_enumeration        the best row exactly, vertex by vertex
_branch_and_bound   the best row with a certificate, box by box
_local_search       good rows without a certificate
_linear_program     linear programs that stop at a time limit
"""
