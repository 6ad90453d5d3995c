/** Compiles what is measured, as in the package: type stripping by Node would add to the start time and memory. */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { run } from '../test/servers/shell.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

/** Inside the project, so that the compiled files find their packages; not in `dist`, which may be in use. */
const BUILT = join(ROOT, '.cache/bench')

/** Compiles the service and the contenders of this repository, with the same settings. */
export async function build (): Promise<void> {
  rmSync(BUILT, { recursive: true, force: true })
  await run([process.execPath, join(ROOT, 'node_modules/@typescript/native/bin/tsc'), '-p', 'bench/tsconfig.json', '--outDir', BUILT], { cwd: ROOT })
}

/** `src/cli/main.ts` -> the path of the compiled file. */
export function builtFile (path: string): string {
  return join(BUILT, path.replace(/\.ts$/, '.js'))
}
