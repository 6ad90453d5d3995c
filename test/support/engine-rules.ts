/**
 * What distinguishes Vitess and TiDB from MySQL for the service, each with the place in their sources or documents that says
 * so. Where a rule is a list, the reason is that list.
 */
import type { EngineRules } from './engine-proxy.ts'

const assign = <T extends string>(as: T, names: string): Record<string, T> => Object.fromEntries(names.trim().split(/\s+/).map((name) => [name, as]))

/** VTGate 20 and later, one shard. */
export const VITESS: EngineRules = {
  version: '8.0.30-Vitess',
  // go/vt/sqlparser/token.go, scanMySQLSpecificComment: MySQL's version comments up to its own version
  executes: (mark, version) => mark === '!' && version <= 80030,
  refuses: [
    // before version 20 an insert has no alias for its row (vitessio/vitess#15510); the service does not know which one it is
    { statement: /\) as `?given(?:_row)?`? on duplicate key/i, error: [1064, '42000', "syntax error at position 60 near 'AS'"], source: 'go/vt/sqlparser/sql.y, insert_statement' }
  ],
  variables: {
    // go/vt/sysvars/sysvars.go, VitessAware: kept by VTGate
    ...assign('set', 'autocommit sql_select_limit'),
    // UseReservedConn: set on a connection of the session's own
    ...assign('set', 'foreign_key_checks unique_checks sort_buffer_size sql_big_selects sql_mode sql_safe_updates time_zone transaction_isolation optimizer_switch'),
    // IgnoreThese
    ...assign('ignored', 'lc_messages'),
    // CheckAndIgnore: nothing happens, whether or not the value differs (go/vt/vtgate/engine/set.go, SysVarCheckAndIgnore)
    ...assign('ignored', `character_set_client character_set_results collation_connection completion_type div_precision_increment
      max_execution_time max_join_size max_sort_length net_write_timeout session_track_state_change session_track_system_variables
      session_track_transaction_info sql_auto_is_null`)
  },
  value: (name, value) => {
    // go/vt/vtgate/engine/set.go, SysVarSetAware: a signed integer of 64 bits
    if (name === 'sql_select_limit' && /^\d+$/.test(value) && BigInt(value) >= 1n << 63n) return [1232, '42000', "incorrect argument type to variable 'sql_select_limit'"]
    // go/vt/vtgate/planbuilder/set.go, extractValue: no DEFAULT but for the variables that VTGate keeps
    if (value === 'default' && !['autocommit', 'sql_select_limit'].includes(name)) return [1235, '42000', `VT12001: unsupported: DEFAULT for @@${name}`]
    return undefined
  },
  // go/vt/vtgate/planbuilder/set.go: "converted 'next transaction' scope to 'session' scope"
  means: (statement) => statement.replace(/^set transaction isolation/i, 'set session transaction isolation')
}

/** TiDB 7.5 and 8.5. */
export const TIDB: EngineRules = {
  version: '8.0.11-TiDB-v8.5.0',
  // pkg/parser/lexer.go, startWithSlash: `/*!` whatever the version, and `/*T!`; `/*M` is a comment
  executes: (mark) => mark !== 'M!',
  refuses: [
    { statement: /^start transaction [^,]+,/i, error: [1064, '42000', 'You have an error in your SQL syntax'], source: 'pkg/parser/parser.y, BeginTransactionStmt: one characteristic' },
    { statement: /^start transaction read only/i, error: [1235, '42000', 'function READ ONLY has only noop implementation in tidb now, use tidb_enable_noop_functions to enable these functions'], source: 'pkg/executor/simple.go, tidb_enable_noop_functions' },
    { statement: /\) as `?given(?:_row)?`? on duplicate key/i, error: [1064, '42000', 'You have an error in your SQL syntax'], source: 'pkg/parser/parser.y, InsertValues; pingcap/tidb#51650' },
    { statement: /\b(?:lock in share mode|for share)\b/i, error: [1235, '42000', 'function LOCK IN SHARE MODE has only noop implementation in tidb now'], source: 'pkg/planner/core/preprocess.go, tidb_enable_noop_functions' },
    { statement: /transaction isolation level serializable/i, error: [8048, 'HY000', "The isolation level 'SERIALIZABLE' is not supported. Set tidb_skip_isolation_level_check=1 to skip this error"], source: 'pkg/sessionctx/variable/varsutil.go, checkIsolationLevel' },
    { statement: /on duplicate key update .*\(select /is, error: [1242, '21000', 'Subquery returns more than 1 row'], source: 'pkg/planner/core/expression_rewriter.go: an uncorrelated subquery is evaluated when the statement is planned' },
    { statement: /@@partial_revokes\b/, error: [1193, 'HY000', "Unknown system variable 'partial_revokes'"], source: 'pkg/sessionctx/variable/sysvar.go, noop.go: in neither list' },
    { statement: /\bmatch *\(/i, error: [1064, '42000', 'You have an error in your SQL syntax'], source: 'pkg/parser/parser.y: no MATCH … AGAINST before 9.0' }
  ],
  variables: {
    // pkg/sessionctx/variable/sysvar.go
    ...assign('set', `autocommit character_set_client character_set_results collation_connection div_precision_increment foreign_key_checks
      max_execution_time sql_mode sql_select_limit time_zone timestamp`),
    // pkg/sessionctx/variable/noop.go: stored, without an effect
    ...assign('stored', `completion_type lc_messages max_join_size max_sort_length net_write_timeout session_track_state_change
      session_track_system_variables sort_buffer_size sql_auto_is_null sql_big_selects sql_safe_updates unique_checks`)
  }
}

export const ENGINES: Readonly<Record<string, EngineRules>> = { Vitess: VITESS, TiDB: TIDB }
