/**
 * Suppresses the warning of Node 22 that node:sqlite is experimental: the program is tested with it. Must be called before node:sqlite is
 * loaded.
 */
export function silenceSqliteWarning (): void {
  const { emitWarning } = process
  process.emitWarning = (warning: string | Error, ...rest: unknown[]): void => {
    if (String(warning).startsWith('SQLite is an experimental feature')) return
    Reflect.apply(emitWarning, process, [warning, ...rest])
  }
}
