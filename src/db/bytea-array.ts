// How pg reads a `bytea[]`, as which the checkpointer gets values and writes. Its own parser goes through the text
// character by character, which took longer than everything else that is done with a state.
import pg from "pg";

const BYTEA_ARRAY: number = 1001;
const parseAsPg: (text: string) => unknown = pg.types.getTypeParser(BYTEA_ARRAY);

/** For a pool: pg's parsers, but for this type. */
export const types: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: "text" | "binary") =>
    oid === BYTEA_ARRAY && format !== "binary"
      ? parse
      : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
};

/** `{{"\\x6162",NULL},{"\\x","\\x63"}}`: two dimensions, in hexadecimal unless the server is set otherwise. */
function parse(text: string): unknown {
  if (!text.startsWith('{{"\\\\x')) return parseAsPg(text);
  const rows = text.slice(2, -2).split("},{");
  return rows.map((row) => row.split(",").map(toBytes));
}

const toBytes = (item: string) => (item === "NULL" ? null : Buffer.from(item.slice(4, -1), "hex"));
