/** Checks the built package with publint and attw. */
import { spawnSync } from 'node:child_process'
import { toolCommand } from './tools.ts'

const checks = [['publint', 'publint', '--strict'], ['@arethetypeswrong/cli', 'attw', '--pack', '.']] as const

for (const [name, command, ...args] of checks) {
  // both pack the package: `dist` was just built
  const { status } = spawnSync(process.execPath, [await toolCommand(name, command), ...args], {
    stdio: 'inherit', env: { ...process.env, NPM_CONFIG_IGNORE_SCRIPTS: 'true' }
  })
  if (status !== 0) process.exit(status ?? 1)
}
