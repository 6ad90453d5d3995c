/**
 * Where the tests take the service from: the source, or a package that is installed in the folder `TEST_PACKAGE`
 * (test/documents/run-packed.ts).
 */
import { cpSync, existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Test } from 'tap'
import { ROOT } from './markdown.ts'
import { call, createFolder } from './package.ts'

/** The folder with the `node_modules` that has the package; undefined for the source. */
export const PACKAGE = process.env['TEST_PACKAGE']

const dist = (folder: string): string => join(folder, 'node_modules/fastify-row-query/dist')

/** The program `row-query`. */
export const MAIN = PACKAGE === undefined ? join(ROOT, 'src/cli/main.ts') : join(dist(PACKAGE), 'src/cli/main.js')

/** Loads the files of the package in place of those of the source, which have the same paths in `dist`. */
export function usePackage (): void {
  if (PACKAGE === undefined) return
  const root = pathToFileURL(ROOT).href
  const built = pathToFileURL(dist(PACKAGE)).href
  if (!existsSync(dist(PACKAGE))) throw new Error(`no package is installed in ${PACKAGE}`)
  registerHooks({
    resolve: (specifier, context, next) => {
      const resolved = next(specifier, context)
      const [, path] = resolved.url.startsWith(root)
        ? /^((?:src|plugins|schemas)\/.*)\.ts$/.exec(resolved.url.slice(root.length)) ?? []
        : []
      return path === undefined ? resolved : { url: `${built}/${path}.js`, format: 'module', shortCircuit: true }
    }
  })
}

/**
 * A folder of a reader of the documents, in which `npx row-query` is the program: a clone after `npm ci`, with `npm
 * start`, or one in which the package is installed.
 */
export async function createPlace (t: Pick<Test, 'teardown'>): Promise<string> {
  const folder = createFolder(t)
  if (PACKAGE !== undefined) {
    writeFileSync(join(folder, 'package.json'), '{ "private": true, "scripts": { "start": "row-query serve" } }')
    symlinkSync(join(PACKAGE, 'node_modules'), join(folder, 'node_modules'))
    return folder
  }
  for (const path of ['src', 'plugins', 'schemas', 'package.json']) {
    cpSync(join(ROOT, path), join(folder, path), { recursive: true })
  }
  mkdirSync(join(folder, 'node_modules/.bin'), { recursive: true })
  for (const name of readdirSync(join(ROOT, 'node_modules'))) {
    if (name !== '.bin') {
      symlinkSync(join(ROOT, 'node_modules', name), join(folder, 'node_modules', name))
    }
  }
  symlinkSync(process.execPath, join(folder, 'node_modules/.bin/node'))
  await call(folder, 'npm', 'run', 'dependencies')
  return folder
}
