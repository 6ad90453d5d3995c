/**
 * Every session variable of the servers: the service sets it (src/dialects/mysql/session-settings.ts), or it is listed
 * here with the reason why no statement of the service means something else by it. A variable that a server has and
 * nobody has considered fails this test.
 */
import t from 'tap'
import { sessionStatement, SETTINGS } from '../../../../src/dialects/mysql/session-settings.ts'
import { createTestDatabase, engines } from '../../../servers/engines.ts'
import { run, connect } from '../../../support/mysql.ts'

const LEFT_ALONE: Array<[reason: string, names: string]> = [
  ['collation_connection sets it', 'character_set_connection'],
  ['set by a statement of its own', 'transaction_isolation tx_isolation'],
  ['another name of a variable of this list', 'identity pseudo_slave_mode storage_engine wsrep_causal_reads'],
  ['set by the statement with the time limits and for what the server reports', 'max_statement_time ' +
    'max_execution_time session_track_system_variables session_track_state_change session_track_transaction_info'],
  ['how much memory, disk or time the server uses, and by which plan: no result depends on it', `
      analyze_max_length analyze_sample_percentage aria_sort_buffer_size aria_repair_threads aria_stats_method
      big_tables bulk_insert_buffer_size connection_memory_chunk_size deadlock_search_depth_long
      deadlock_search_depth_short deadlock_timeout_long deadlock_timeout_short enable_secondary_engine_statistics
      eq_range_index_dive_limit expensive_subquery_limit global_connection_memory_tracking
      histogram_generation_max_mem_size histogram_size histogram_type in_predicate_conversion_threshold
      information_schema_stats_expiry innodb_ddl_buffer_size innodb_ddl_threads innodb_parallel_read_threads
      innodb_tmpdir internal_tmp_mem_storage_engine join_buffer_size join_buffer_space_limit join_cache_level
      keep_files_on_create low_priority_updates max_delayed_threads max_heap_table_size max_insert_delayed_threads
      max_length_for_sort_data max_rowid_filter_size max_seeks_for_key max_tmp_tables mrr_buffer_size
      myisam_repair_threads myisam_sort_buffer_size myisam_stats_method net_buffer_length old
      optimizer_adjust_secondary_key_costs optimizer_extra_pruning_depth optimizer_join_limit_pref_ratio
      optimizer_max_sel_arg_weight optimizer_max_sel_args optimizer_max_subgraph_pairs optimizer_prune_level
      optimizer_search_depth optimizer_selectivity_sampling_limit optimizer_trace optimizer_trace_features
      optimizer_trace_limit optimizer_trace_max_mem_size optimizer_trace_offset optimizer_use_condition_selectivity
      preload_buffer_size profiling profiling_history_size progress_report_time query_alloc_block_size
      query_cache_strip_comments query_cache_type query_cache_wlock_invalidate query_prealloc_size
      range_alloc_block_size range_optimizer_max_mem_size read_buffer_size read_rnd_buffer_size rowid_merge_buff_size
      secondary_engine_cost_threshold select_into_buffer_size select_into_disk_sync select_into_disk_sync_delay
      set_operations_buffer_size sql_buffer_result tcp_nodelay thread_pool_priority tmp_disk_table_size
      tmp_memory_table_size tmp_table_size transaction_alloc_block_size transaction_prealloc_size use_secondary_engine
      use_stat_tables column_compression_threshold column_compression_zlib_level column_compression_zlib_strategy
      column_compression_zlib_wrap
    `],
  ['a limit of the operator\'s: beyond it a statement fails, with an error that is answered as what it is', `
      connection_memory_limit idle_readonly_transaction_timeout idle_transaction_timeout idle_write_transaction_timeout
      innodb_lock_wait_timeout interactive_timeout lock_wait_timeout max_allowed_packet max_session_mem_used
      max_user_connections net_read_timeout net_retry_count net_write_timeout parser_max_mem_size wait_timeout
    `],
  ['tables and accounts are not made, altered or described', `
      alter_algorithm character_set_database character_set_server collation_database collation_server
      default_storage_engine default_table_encryption default_tmp_storage_engine enforce_storage_engine explain_format
      explain_json_format_version external_table_secondary_storage_engine external_table_storage_engine
      generated_random_password_length innodb_compression_default innodb_default_encryption_key_id innodb_strict_mode
      old_alter_table old_passwords print_identified_with_as_hex require_row_format restrict_fk_on_non_standard_key
      show_create_table_skip_secondary_engine show_create_table_verbosity sql_generate_invisible_primary_key
      sql_if_exists sql_quote_show_create sql_require_primary_key system_versioning_alter_history
      terminology_use_previous
    `],
  ['whether a key that MySQL made is a column that can be seen is the operator\'s choice; the catalog ' +
    'and the rows agree', 'show_gipk_in_create_table_and_information_schema'],
  ['logs and warnings, which are not read', `
      end_markers_in_json log_disabled_statements log_slow_disabled_statements log_slow_min_examined_row_limit
      log_slow_query log_slow_query_time long_query_time min_examined_row_limit slow_query_log
      log_queries_not_using_indexes log_slow_admin_statements log_slow_filter log_slow_max_warnings log_slow_rate_limit
      log_slow_slave_statements log_slow_verbosity log_warnings max_error_count note_verbosity sql_log_off sql_notes
      sql_warnings
    `],
  ['replication and its log: what is written to them is the operator\'s choice', `
      binlog_alter_two_phase binlog_annotate_row_events binlog_direct_non_transactional_updates binlog_format
      binlog_row_image binlog_row_value_options binlog_rows_query_log_events binlog_transaction_compression
      binlog_transaction_compression_level_zstd default_master_connection gtid_domain_id gtid_next gtid_seq_no
      immediate_server_version max_relay_log_size original_commit_timestamp original_server_version pseudo_replica_mode
      pseudo_thread_id rbr_exec_mode server_id session_track_gtids skip_parallel_replication skip_replication
      sql_log_bin sql_slave_skip_counter transaction_allow_batching wsrep_gtid_seq_no wsrep_on wsrep_osu_method
      wsrep_retry_autocommit wsrep_trx_fragment_size wsrep_trx_fragment_unit xa_detach_on_prepare
    `],
  [
    'how current the reads of a cluster are, and in which steps its keys count, is the operator\'s choice',
    'auto_increment_increment auto_increment_offset group_replication_consistency wsrep_dirty_reads wsrep_sync_wait ' +
      'innodb_snapshot_isolation innodb_table_locks'
  ],
  [
    'a server that is set to read-only refuses writes with an error, and another host is tried',
    'transaction_read_only tx_read_only'
  ],
  ['functions that only triggers, views and routines use: their meaning is their owner\'s choice', `
    automatic_sp_privileges block_encryption_mode cte_max_recursion_depth default_regex_flags default_week_format
    enable_cascade_triggers group_concat_max_len innodb_ft_enable_stopword innodb_ft_user_stopword_table lc_time_names
    max_points_in_geometry max_recursive_iterations max_sp_recursion_depth standard_compliant_cte
    windowing_use_high_precision rand_seed1 rand_seed2 last_insert_id
  `],
  ['a null is not written to a column that is NOT NULL: the plan refuses it', 'explicit_defaults_for_timestamp'],
  [
    'no statement says a character set without its collation, or names a file',
    'default_collation_for_utf8mb4 character_set_filesystem'
  ],
  [
    'updates and deletes have no LIMIT, and rows of the past are not inserted',
    'updatable_views_with_limit system_versioning_insert_history'
  ],
  ['needs a capability that the driver does not announce', 'resultset_metadata'],
  [
    'the schema of the session is reported: it cannot change, for triggers and functions have no USE',
    'session_track_schema'
  ],
  ['some servers let nobody set it (secure_timestamp): the session is not used where the clock stands', 'timestamp'],
  ['new in each session; what a trigger leaves is undone by the reset', 'insert_id']
]

const left = new Map(
  LEFT_ALONE.flatMap(([reason, names]) => names.trim().split(/\s+/).map((name): [string, string] => [name, reason]))
)
const set = new Set(SETTINGS.map(({ name }) => name))

t.test('no variable is both set and ignored, or listed twice', async (t) => {
  t.same([...left.keys()].filter((name) => set.has(name)), [])
  t.equal(left.size, LEFT_ALONE.flatMap(([, names]) => names.trim().split(/\s+/)).length)
})

/** The versions whose variables are listed; newer ones may have more. */
const LISTED = /^(10\.11|9\.7)\./

/** Errors for a variable that has no value of the session's own: it is global, or cannot be set at all. */
const NOT_OF_A_SESSION = new Set([1229, 1238])

for (const engine of await engines()) {
  t.test(`every session variable has been considered (${engine.name})`, async (t) => {
    const database = await createTestDatabase(engine)
    const connection = await connect(database.url)
    t.teardown(async () => {
      connection.destroy()
      await database.drop()
    })
    const rows = await run(connection, 'show session variables') as Array<{ Variable_name: string }>
    const names = rows.map((row) => row.Variable_name)
    t.ok(names.length > 300)
    const unknown: string[] = []
    for (const name of names) {
      if (set.has(name) || left.has(name)) continue
      const errno = await run(connection, `set session \`${name}\` = default`).then(
        () => 0, (error: { errno: number }) => error.errno
      )
      if (!NOT_OF_A_SESSION.has(errno)) unknown.push(name)
    }
    if (LISTED.test(engine.version)) {
      t.same(unknown, [], 'set them in session-settings.ts, or list them here with the reason why not')
    } else t.comment(`not considered: ${unknown.join(', ')}`)
  })

  t.test(`every variable has the value that the session sets (${engine.name})`, async (t) => {
    const database = await createTestDatabase(engine)
    const connection = await connect(database.url)
    t.teardown(async () => {
      connection.destroy()
      await database.drop()
    })
    const values = new Map((await run(
      connection, 'show session variables'
    ) as Array<{ Variable_name: string, Value: string }>).map((row) => [row.Variable_name, row.Value]))
    const words = new Map([['0', ['0', 'OFF', 'NO_CHAIN']], ['1', ['1', 'ON']], ['default', ['DEFAULT']]])
    for (const { name, value } of SETTINGS.filter(({ only }) => only === undefined || only === engine.name)) {
      if (name === 'autocommit' && value === '0') continue
      const expected = words.get(value) ?? [value.replaceAll("'", '')]
      const actual = values.get(name) as string
      // an assignment to optimizer_switch changes one of its flags
      const isFlag = name === 'optimizer_switch' && actual.split(',').includes(expected[0] as string)
      t.ok(isFlag || expected.includes(actual) ||
        expected[0]?.split(',').toSorted().join() === actual.split(',').toSorted().join(), `${name} = ${actual}`)
    }
  })
}

t.test('the statement is ASCII, because it is sent before the character set is set', async (t) => {
  t.match(sessionStatement(1000), /^[ -~]+$/)
})
