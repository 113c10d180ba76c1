#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How fast does a store on a PostgreSQL server take rows, beside `psql \\copy` of the same rows?

    postgresql_store.py BUILD [--rows 500000] [--copies 3]

Starts a server with the settings of its package (fsync on), lets store_bench append rows with 30 samples and ask its
questions, then copies the same rows into a table with the same indexes and references. Exit status 1 if the store
takes fewer than half as many rows a second as the copy, or if store_bench misses a limit. Wants a quiet machine."""
import argparse
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from postgresql_server import PostgresqlServer, program

SAME_TABLE = """
create table copied (like measurements including indexes);
do $$ declare r record; begin
  for r in select pg_get_constraintdef(oid) as definition from pg_constraint
           where conrelid = 'measurements'::regclass and contype = 'f' loop
    execute 'alter table copied add ' || r.definition;
  end loop;
end $$"""


def copy_rate(server, rows):
    """Returns how many rows a second psql copies into a new table like that of the store."""
    server.psql("drop table if exists copied")
    server.psql(SAME_TABLE)
    begin = time.monotonic()
    subprocess.run([program("psql"), server.url(), "-Xq", "-v", "ON_ERROR_STOP=1", "-c",
                    f"\\copy copied from '{server.folder}/rows'"], check=True)
    seconds = time.monotonic() - begin
    count = int(server.psql("select count(*) from copied"))
    assert count == rows, (count, rows)
    return count / seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--rows", type=int, default=500_000)
    parser.add_argument("--copies", type=int, default=3)
    options = parser.parse_args()
    with PostgresqlServer() as server:
        environment = {**os.environ, "PLUMB_BENCH_STORE_URL": server.url(), "PLUMB_BENCH_STORE_ROWS": str(options.rows),
                       "PLUMB_BENCH_STORE_SAMPLES": "30"}
        bench = subprocess.run([options.build / "tests/bench/store_bench"], env=environment, text=True,
                               stdout=subprocess.PIPE)
        print(bench.stdout, end="")
        rate = float(re.search(r"appended at (\d+) rows a second", bench.stdout)[1])
        copied = min(options.rows, 500_000)
        os.chmod(server.folder, 0o777)
        subprocess.run([program("psql"), server.url(), "-Xq", "-c",
                        f"\\copy (select * from measurements order by id limit {copied}) to '{server.folder}/rows'"],
                       check=True)
        rates = [copy_rate(server, copied) for _ in range(options.copies)]
        median = statistics.median(rates)
        print(f"psql \\copy of {copied} of these rows: {median:.0f} rows a second (median of {len(rates)}: "
              f"{', '.join(f'{each:.0f}' for each in rates)}); the store has {rate / median:.2f} of it")
    return 1 if bench.returncode or rate < median / 2 else 0


if __name__ == "__main__":
    sys.exit(main())
