/**
 * Node 22 tells on standard error that node:sqlite is experimental there. The program is tested with it, so that is nothing
 * for its user; every other warning goes its way. To be called before node:sqlite is loaded.
 */
export function silenceSqliteWarning (): void {
  const { emitWarning } = process
  process.emitWarning = (warning: string | Error, ...rest: unknown[]): void => {
    if (String(warning).startsWith('SQLite is an experimental feature')) return
    Reflect.apply(emitWarning, process, [warning, ...rest])
  }
}
