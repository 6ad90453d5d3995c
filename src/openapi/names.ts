/** Creates names of schemas and operations that are valid identifiers in the languages of generated clients. */

/** Joins the words of a text in Pascal case: `order_items` -> `OrderItems`, `2024 täglich` -> `2024Taglich`. */
export function joinWords (text: string): string {
  const words = text.normalize('NFKD').replace(/\p{M}/gu, '')
    .replace(/([a-z\d])([A-Z])|([A-Z])(?=[A-Z][a-z])/g, '$1$3 $2')
    .match(/[A-Za-z\d]+/g) ?? []
  return words.map((word) => word.charAt(0).toUpperCase() + word.slice(1).toLowerCase()).join('')
}

/** Returns the text in Pascal case, beginning with a letter: `2024_logs` -> `Table2024Logs`. */
export function pascalCase (text: string): string {
  const name = joinWords(text)
  return /^[A-Z]/.test(name) ? name : 'Table' + name
}

export interface Names {
  /** Reserves a name with each of the endings and returns it; adds a number if the name is in use. */
  take (name: string, endings?: readonly string[]): string
}

/** The names of one document. They are case-insensitive, because some generators write one file for each name. */
export function createNames (taken: readonly string[]): Names {
  const used = new Set(taken.map((name) => name.toLowerCase()))
  // the last number of each name, because hundreds of tables with names without Latin letters would get the same name
  const numbers = new Map<string, number>()
  return {
    take (name, endings = ['']) {
      for (let number = numbers.get(name) ?? 1; ; number++) {
        const candidate = number === 1 ? name : `${name}${number}`
        const all = endings.map((ending) => (candidate + ending).toLowerCase())
        if (all.some((each) => used.has(each))) continue
        for (const each of all) used.add(each)
        numbers.set(name, number)
        return candidate
      }
    }
  }
}
