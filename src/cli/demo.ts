/** Opens the demo for commands, and `row-query demo`, which tells where it is and makes it new. */
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { DEMO_PATH, type Loaded } from '../config/load.ts'
import { createShop, resetShop } from '../demo/shop.ts'
import { COMMANDS, parseFlags } from './commands.ts'

/** Creates the demo if it is used and not there, and says on standard error where it is then. */
export function openDemo (demo: Loaded['demo']): void {
  if (demo !== undefined && createShop(demo.path)) {
    process.stderr.write(`row-query: no database is configured: created the demo in ${resolve(demo.path)}\n`)
  }
}

/** `row-query demo [--reset]` */
export async function demo (args: string[]): Promise<number> {
  const { values } = parseFlags('demo', { args, options: COMMANDS.demo.flags })
  const path = resolve(DEMO_PATH)
  if (values.reset === true) {
    resetShop(DEMO_PATH)
    process.stdout.write(`The demo in ${path} is reset. Its token stays the same.\n`)
  } else if (existsSync(path)) {
    process.stdout.write(`The demo is ${path}; "row-query demo --reset" resets its rows.\n`)
  } else {
    process.stdout.write(`There is no demo in this folder yet: "row-query serve" creates ${path}.\n`)
  }
  return 0
}
