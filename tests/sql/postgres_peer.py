"""PostgreSQL beside the program: a server of one's own, and its answers.

The server lies in a temporary folder, listens on a socket there and nowhere else, and is ended and
removed with the process. NotInstalled says why there is none: no binaries, or no psycopg.
"""

import atexit
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

START_SECONDS_MAX = 60.0
# Text compares by bytes, and letters of all alphabets change case, as ours do; nothing has to
# outlive the process.
INITDB = ["--auth=trust", "--username=peer", "--locale=C", "--lc-ctype=C.UTF-8", "--encoding=UTF8",
          "--no-sync"]
SETTINGS = {"listen_addresses": "", "fsync": "off", "timezone": "UTC", "jit": "off",
            "datestyle": "ISO", "work_mem": "64MB", "max_connections": "5"}


class NotInstalled(Exception):
    pass


def binaries():
    """The folder of initdb and postgres; None where neither the path nor Debian's place has it."""
    folders = [pathlib.Path(folder) for folder in os.environ.get("PATH", "").split(":") if folder]
    if shutil.which("pg_config"):
        said = subprocess.run(["pg_config", "--bindir"], capture_output=True, text=True)
        folders.append(pathlib.Path(said.stdout.strip()))
    debian = pathlib.Path("/usr/lib/postgresql").glob("*/bin")
    folders += sorted(debian, key=lambda folder: -float(folder.parent.name))
    return next((folder for folder in folders
                 if all((folder / name).exists() for name in ("initdb", "postgres"))), None)


def unprivileged():
    """What Popen is given so that the server does not run as root, which it refuses."""
    if os.geteuid() != 0:
        return {}
    import pwd

    for name in ("postgres", "nobody"):
        try:
            user = pwd.getpwnam(name)
        except KeyError:
            continue
        return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    raise NotInstalled("PostgreSQL does not run as root, and there is no user postgres or nobody")


class Server:
    def __init__(self):
        folder = binaries()
        if folder is None:
            raise NotInstalled("PostgreSQL is not installed (Debian: apt-get install postgresql)")
        try:
            import psycopg
        except ImportError as error:
            raise NotInstalled(f"Python's psycopg: {error} (tools/test --only venv)") from error
        self.psycopg = psycopg
        self.process = None
        user = unprivileged()
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="diptych-postgres-"))
        atexit.register(self.close)
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that atexit's calls are made
        if user:
            shutil.chown(self.folder, user["user"], user["group"])
        made = subprocess.run([folder / "initdb", *INITDB, self.folder / "data"], cwd=self.folder,
                              capture_output=True, text=True, **user)
        if made.returncode != 0:
            raise RuntimeError(f"initdb: {made.stdout}{made.stderr}")
        settings = [part for name, value in SETTINGS.items() for part in ("-c", f"{name}={value}")]
        with (self.folder / "log").open("w") as log:
            self.process = subprocess.Popen(
                [folder / "postgres", "-D", self.folder / "data", "-k", self.folder, *settings],
                cwd=self.folder, stdout=log, stderr=log, **user)

    def connect(self):
        """A connection, as soon as the server takes one."""
        end = time.monotonic() + START_SECONDS_MAX
        while True:
            try:
                return self.psycopg.connect(host=str(self.folder), user="peer", dbname="postgres",
                                            autocommit=True)
            except self.psycopg.OperationalError:
                if self.process.poll() is not None or time.monotonic() > end:
                    raise RuntimeError((self.folder / "log").read_text()) from None
                time.sleep(0.05)

    def close(self):
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)  # a fast shutdown
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


class PostgresPeer:
    """What random_query_test.py asks: the tables of one schema at a time."""

    name = "PostgreSQL"
    is_postgres = True
    refusal = ""  # of the last query without rows

    def __init__(self):
        self.server = Server()
        self.connection = self.server.connect()
        # As text: Python's timedelta has no months.
        from psycopg.types.string import TextLoader
        self.connection.adapters.register_loader("interval", TextLoader)

        class WithoutBlanks(TextLoader):
            def load(self, data):
                return super().load(bytes(data).rstrip(b" "))

        self.connection.adapters.register_loader("bpchar", WithoutBlanks)
        self.match_without_blanks()

    def match_without_blanks(self):
        """Patterns see a CHAR as a text, as they do here, and not the blanks that pad it."""
        self.connection.execute("CREATE SCHEMA unpadded")
        for number, operator in enumerate(("~~", "!~~", "~~*", "!~~*", "~", "!~", "~*", "!~*")):
            self.connection.execute(
                f"CREATE FUNCTION unpadded.match{number}(bpchar, text) RETURNS boolean"
                f" LANGUAGE sql IMMUTABLE AS 'SELECT $1::text OPERATOR(pg_catalog.{operator}) $2';"
                f"CREATE OPERATOR unpadded.{operator} (LEFTARG = bpchar, RIGHTARG = text,"
                f" FUNCTION = unpadded.match{number})")
        self.connection.execute("SET search_path = public, unpadded, pg_catalog")

    def new_schema(self):
        self.connection.execute("SET client_min_messages = error;"
                                "DROP SCHEMA public CASCADE; CREATE SCHEMA public")

    def load(self, table, csv):
        self.connection.execute(table.ddl(foreign_keys=False))
        with self.connection.cursor() as cursor:
            with cursor.copy(f"COPY {table.name} FROM STDIN (FORMAT csv, HEADER)") as copy:
                copy.write(csv.read_bytes())
        self.connection.execute(f"ANALYZE {table.name}")

    def takes(self, ddl):
        try:
            self.connection.execute(ddl)
        except self.server.psycopg.Error:
            return False
        return True

    def answer(self, sql, seconds_max):
        """(rows, width); None where PostgreSQL refuses, or takes longer."""
        try:
            self.connection.execute(f"SET statement_timeout = {int(seconds_max * 1000)}")
            cursor = self.connection.execute(sql)
            return cursor.fetchall(), len(cursor.description)
        except self.server.psycopg.Error as error:
            self.refusal = f"{error.sqlstate}: {str(error).splitlines()[0]}"
            return None
