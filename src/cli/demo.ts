/** `row-query demo` tells where the demo is, and makes it new. */
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { DEMO_PATH } from '../config/load.ts'
import { resetShop } from '../demo/shop.ts'
import { parseFlags } from './commands.ts'

/** `row-query demo [--reset]` */
export async function demo (args: string[]): Promise<number> {
  const { values } = parseFlags('demo', args)
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
