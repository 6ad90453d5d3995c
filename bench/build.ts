/** What is measured is compiled, as the package is: Node's own stripping of types would add to start and memory. */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { run } from '../test/servers/shell.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

/** Inside the project, so that what is compiled finds its packages; beside `dist`, which may be in use. */
const BUILT = join(ROOT, '.cache/bench')

/** Compiles the service and the contenders that are written here, with the same settings. */
export async function build (): Promise<void> {
  rmSync(BUILT, { recursive: true, force: true })
  await run([process.execPath, join(ROOT, 'node_modules/@typescript/native/bin/tsc'), '-p', 'bench/tsconfig.json', '--outDir', BUILT], { cwd: ROOT })
}

/** `src/cli/main.ts` -> where it is once it is compiled. */
export function builtFile (path: string): string {
  return join(BUILT, path.replace(/\.ts$/, '.js'))
}
