import cProfile,pstats,sys,pytest
p=cProfile.Profile(); p.enable()
try: pytest.main(sys.argv[1:])
finally:
    p.disable(); p.dump_stats("/tmp/prof/c.prof")
