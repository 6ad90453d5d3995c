/**
 * What distinguishes Vitess and TiDB from MySQL for the service, each with the place in their sources or documents that
 * says so: a file and the function, list or rule in it, at the commit that was read where one is named. Where a rule is
 * a list, the reason is that list. Not read, and so from knowledge of them alone: what is marked with `unread`.
 */
import type { EngineRules } from './engine-proxy.ts'

const assign = <T extends string>(as: T, names: string): Record<string, T> =>
  Object.fromEntries(names.trim().split(/\s+/).map((name) => [name, as]))

/** VTGate 20 and later, one shard. */
export const VITESS: EngineRules = {
  version: '8.0.30-Vitess',
  // go/vt/sqlparser/token.go, scanMySQLSpecificComment: MySQL's version comments up to its own version (`parser.version
  // >= versionStr`)
  executes: (mark, version) => mark === '!' && version <= 80030,
  refuses: [
    // before version 20 an insert has no alias for its row (vitessio/vitess#15510); the service does not know which one
    // it is
    {
      statement: /\) as `?given(?:_row)?`? on duplicate key/i,
      error: [1064, '42000', "syntax error at position 60 near 'AS'"],
      source: 'vitessio/vitess#15509, closed by version 20'
    }
  ],
  variables: {
    // go/vt/sysvars/sysvars.go at 0ab9ecd63f, VitessAware: kept by VTGate
    ...assign('set', 'autocommit sql_select_limit'),
    // UseReservedConn: set on a connection of the session's own, or by a hint in each statement
    ...assign('set', 'foreign_key_checks unique_checks sort_buffer_size sql_big_selects sql_mode sql_safe_updates ' +
      'time_zone transaction_isolation optimizer_switch'),
    // IgnoreThese
    ...assign('ignored', 'lc_messages'),
    // CheckAndIgnore: nothing happens, whether or not the value differs (go/vt/vtgate/engine/set.go at 022042f5d5,
    // SysVarCheckAndIgnore.Execute)
    ...assign('ignored', `
      character_set_client character_set_results collation_connection completion_type div_precision_increment
      max_execution_time max_join_size max_sort_length net_write_timeout session_track_state_change
      session_track_system_variables session_track_transaction_info sql_auto_is_null
    `)
  },
  value: (name, value) => {
    // go/vt/vtgate/engine/set.go at 022042f5d5, SysVarSetAware.Execute, evalAsInt64: a signed integer of 64 bits
    if (name === 'sql_select_limit' && /^\d+$/.test(value) &&
      BigInt(value) >= 1n << 63n) return [1232, '42000', "incorrect argument type to variable 'sql_select_limit'"]
    // go/vt/vtgate/engine/set.go at 022042f5d5, unsupportedSQLModes; earlier, as it is planned:
    // go/vt/vtgate/planbuilder/set.go, validateSQLModePlan
    const mode = /\b(?:ANSI_QUOTES|NO_BACKSLASH_ESCAPES|PIPES_AS_CONCAT|REAL_AS_FLOAT)\b/i.exec(value)?.[0]
    if (name === 'sql_mode' && mode !== undefined) return [1235, '42000', `setting the ${mode} sql_mode is unsupported`]
    // go/vt/vtgate/planbuilder/set.go at 03b0dca918, extractValue: no DEFAULT but for those that VTGate keeps with a
    // default (buildSetOpVitessAware)
    if (value === 'default' && !['autocommit', 'sql_select_limit'].includes(name)) {
      return [1235, '42000', `VT12001: unsupported: DEFAULT for @@${name}`]
    }
    return undefined
  }
}

/** TiDB 7.5 and 8.5. */
export const TIDB: EngineRules = {
  version: '8.0.11-TiDB-v8.5.0',
  // pkg/parser/lexer.go at 0854d2460b, startWithSlash: `/*!` whatever the version, and `/*T!`; `/*M` is a comment
  executes: (mark) => mark !== 'M!',
  refuses: [
    {
      statement: /^start transaction [^,]+,/i,
      error: [1064, '42000', 'You have an error in your SQL syntax'],
      source: 'docs, sql-statements/sql-statement-start-transaction.md: one characteristic'
    },
    {
      statement: /^start transaction read only/i,
      error: [
        1235, '42000',
        'function READ ONLY has only noop implementation in tidb now, use tidb_enable_noop_functions to ' +
        'enable these functions'
      ],
      source: 'pkg/executor/simple.go, executeBegin: READ ONLY without AS OF'
    },
    {
      statement: /\) as `?given(?:_row)?`? on duplicate key/i,
      error: [1064, '42000', 'You have an error in your SQL syntax'],
      source: 'pingcap/tidb#51650; since 2026 it is parsed and not bound, 1054: #70814'
    },
    {
      statement: /\b(?:lock in share mode|for share)\b/i,
      error: [1235, '42000', 'function LOCK IN SHARE MODE has only noop implementation in tidb now'],
      source: 'pkg/planner/core/preprocess.go, ErrFunctionsNoopImpl: unless tidb_enable_shared_lock_promotion is on'
    },
    {
      statement: /transaction isolation level serializable/i,
      error: [
        8048, 'HY000',
        "The isolation level 'SERIALIZABLE' is not supported. Set tidb_skip_isolation_level_check=1 to skip this error"
      ],
      source: 'pkg/sessionctx/variable/varsutil.go at 0068d8c79e, checkIsolationLevel'
    },
    {
      statement: /on duplicate key update .*\(select /is,
      error: [1242, '21000', 'Subquery returns more than 1 row'],
      source: 'unread: pkg/planner/core/expression_rewriter.go evaluates an uncorrelated subquery when the ' +
        'statement is planned'
    },
    {
      statement: /@@partial_revokes\b/,
      error: [1193, 'HY000', "Unknown system variable 'partial_revokes'"],
      source: 'pkg/sessionctx/variable/noop.go at 04350a972b: not in its list; unread: nor in that of sysvar.go'
    },
    {
      statement: /\bmatch *\([^)]*\) *against *\((?:[^()']|'(?:[^'\\]|\\.|'')*')*\) *[<>=]/i,
      error: [1064, '42000', 'You have an error in your SQL syntax'],
      source: 'pkg/parser/parser.y, Expression: not an operand of a comparison; pingcap/tidb#30956'
    },
    {
      statement: /\bmatch *\(/i,
      error: [1105, 'HY000', 'UnknownType: *ast.MatchAgainst'],
      source: 'pingcap/tidb#48734, #61271: parsed, and not planned'
    }
  ],
  variables: {
    // pkg/sessionctx/variable/sysvar.go, defaultSysVars: max_execution_time, sql_mode, sql_select_limit, time_zone,
    // foreign_key_checks, timestamp; the rest unread
    ...assign('set', `
      autocommit character_set_client character_set_results collation_connection div_precision_increment
      foreign_key_checks max_execution_time sql_mode sql_select_limit time_zone timestamp
    `),
    // pkg/sessionctx/variable/noop.go at 04350a972b, noopSysVars: stored, without an effect
    ...assign('stored', `
      completion_type lc_messages max_join_size max_sort_length net_write_timeout session_track_state_change
      session_track_system_variables sort_buffer_size sql_auto_is_null sql_big_selects sql_safe_updates unique_checks
    `)
  }
}

export const ENGINES: Readonly<Record<string, EngineRules>> = { Vitess: VITESS, TiDB: TIDB }
