/**
 * Writes the entries of the package for CommonJS. `require` loads the same modules as `import`, so there is one instance of each. Their types are needed
 * because TypeScript does not import an ES module into CommonJS before `module: nodenext`.
 */
import { writeFileSync } from 'node:fs'
import { basename } from 'node:path'
import { pathToFileURL } from 'node:url'

/** Writes a `.cjs` and its types beside each ES module. */
export async function writeCommonJs (modules: readonly string[]): Promise<void> {
  for (const module of modules) {
    const exported = Object.entries(await import(pathToFileURL(module).href) as Record<string, unknown>)
    const source = `./${basename(module)}`
    writeFileSync(module.replace(/\.js$/, '.cjs'), script(source, exported.map(([name]) => name)))
    writeFileSync(module.replace(/\.js$/, '.d.cts'), types(source, exported))
  }
}

const script = (source: string, names: readonly string[]): string =>
  `'use strict'\nconst all = require('${source}')\nObject.defineProperty(exports, '__esModule', { value: true })\n` +
  names.map((name) => `exports.${name} = all.${name}\n`).join('')

function types (source: string, exported: ReadonlyArray<[name: string, value: unknown]>): string {
  const from = `from '${source}' with { 'resolution-mode': 'import' };\n`
  const values = exported.map(([name, value]) => {
    if (name === 'default') return 'declare const all_default: typeof all.default;\nexport default all_default;\n'
    const type = isClass(value) ? `export type ${name} = all.${name};\n` : ''
    return `${type}export declare const ${name}: typeof all.${name};\n`
  })
  return `import type * as all ${from}export type * ${from}${values.join('')}`
}

const isClass = (value: unknown): boolean => typeof value === 'function' && /^class\b/.test(String(value))
