#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How large does a store on a PostgreSQL server become, and how do its queries fare with its size?

    store_scale.py BUILD [--rows 5000000 20000000]

For each size: store_bench appends rows with 20 samples and asks its questions; then the bytes of each table and index, and
the times of what a page asks. docs/design/scale.md uses the figures. Wants a quiet machine and 400 bytes of disk a row,
three times."""
import argparse
import os
import pathlib
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from postgresql_server import PostgresqlServer

SIZES = ("select c.relname, c.relkind, pg_relation_size(c.oid) + coalesce(pg_relation_size(c.reltoastrelid), 0) from pg_class c "
         "join pg_namespace n on n.oid = c.relnamespace where n.nspname = 'public' and c.relkind in ('r', 'i') "
         "and pg_relation_size(c.oid) >= 1000000 order by 3 desc")
KEY = "(select min(id) from layer_keys)"
QUERIES = {
    "the rows of one run": "select count(*), sum(length(samples)) from measurements where run = (select max(number) from runs)",
    "one key over all runs": f"select count(*), avg(median_seconds) from measurements where run in (select number from runs) and layer_key = {KEY} "
                             "and cache = 'none'",
    "one key over the newest 90 runs": "select count(*), avg(median_seconds) from measurements where run in "
                                       f"(select number from runs order by started desc limit 90) and layer_key = {KEY} and cache = 'none'",
    "all runs": "select count(*) from (select * from runs order by started desc) as listed",
}


def timed(server, database, sql):
    """Returns the median time of five executions on one connection."""
    repeated = "\n".join(["\\timing on"] + [sql + ";"] * 5)
    out = subprocess.run(["psql", server.url(database=database), "-XAtq"], input=repeated, capture_output=True, text=True, check=True).stdout
    times = sorted(float(line.split()[1]) for line in out.splitlines() if line.startswith("Time:"))
    return times[2]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--rows", type=int, nargs="+", default=[5_000_000, 20_000_000])
    options = parser.parse_args()
    status = 0
    with PostgresqlServer() as server:
        for rows in options.rows:
            database = f"rows{rows}"
            server.psql(f"create database {database}")
            environment = {**os.environ, "PLUMB_BENCH_STORE_URL": server.url(database=database), "PLUMB_BENCH_STORE_ROWS": str(rows)}
            status |= subprocess.run([options.build / "tests/bench/store_bench"], env=environment, stderr=subprocess.DEVNULL).returncode
            begin = time.monotonic()
            server.psql("vacuum analyze", database=database)
            print(f"vacuum analyze in {time.monotonic() - begin:.1f} s")
            for line in server.psql(SIZES, database=database).splitlines():
                name, kind, size = line.split("|")
                print(f"{'index' if kind == 'i' else 'table'} {name}: {int(size) / rows:.1f} bytes a row, {int(size) / 1e9:.3f} GB")
            for name, sql in QUERIES.items():
                print(f"{name}: {timed(server, database, sql):.1f} ms")
            server.psql(f"drop database {database}")
            sys.stdout.flush()
    return status


if __name__ == "__main__":
    sys.exit(main())
