import type { SQLInputValue, StatementSync } from 'node:sqlite';
import type { SqliteFile } from './sqlite-file.ts';
import { REALM } from './sqlite-schema.ts';
import type { Realm } from './store.ts';

/** A condition of a query and its values, or none. */
export type Condition = readonly [sql: string, ...values: readonly SQLInputValue[]] | undefined;

export interface Selection {
  readonly conditions: readonly Condition[];
  readonly orderBy: string;
  readonly limit: number;
}

/** Queries of one table that differ in their conditions; each is prepared once. */
export class SqliteSelect {
  readonly #file: SqliteFile;
  /** From `SELECT` to the table. */
  readonly #head: string;
  readonly #statements = new Map<string, StatementSync>();

  constructor(file: SqliteFile, head: string) {
    this.#file = file;
    this.#head = head;
  }

  all({ conditions, orderBy, limit }: Selection): Record<string, unknown>[] {
    const given = conditions.filter((condition) => condition !== undefined);
    const where = ['true', ...given.map(([sql]) => sql)].join(' AND ');
    const values = given.flatMap(([, ...rest]) => rest);
    const sql = `${this.#head} WHERE ${where} ORDER BY ${orderBy} LIMIT ?`;
    return this.#statement(sql).all(...values, limit);
  }

  /** There are as many statements as combinations of conditions, which are few. */
  #statement(sql: string): StatementSync {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    const statement = this.#file.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }
}

/** A condition that is there if its value is. */
export const when = (sql: string, value: SQLInputValue | undefined): Condition =>
  value === undefined ? undefined : [sql, value];

/** Only sessions of a realm, if there is one, found by the table's index of them. */
export const inRealm = (realm: Realm | undefined): Condition => when(`${REALM} = ?`, realm);

/** The same for a query that goes by another index: a sign keeps the engine from that of realms. */
export const amongRealm = (realm: Realm | undefined): Condition => when(`+${REALM} = ?`, realm);
