import { ARTICLES, type Article } from './goods.ts'
import type { Random } from './random.ts'

export type Product = {
  sku: string
  name: string
  description: string | null
  price: number
  stock: number
  weight_kg: number | null
  attributes: string | null
  discontinued: number
}

const COLOURS = ['sage', 'ivory', 'midnight blue', 'rust', 'mustard', 'crème'] as const

/** A readable text key, as a shop's people would say it on the phone: `TEAPOT-COPPER`. */
function sku ({ kind, make }: Article): string {
  return `${kind.code}-${make.replace('-', '').slice(0, 6).toUpperCase()}`
}

/** Whole cents until the very end: only the last division makes a fraction of them. */
function price (random: Random, [least, most]: readonly [number, number]): number {
  return (random.integer(least, most) * 100 + random.pick([0, 50, 90, 95])) / 100
}

/** Nested two levels deep; the parcel grows with the weight, so that no mug comes in a suitcase's box. */
function attributes (random: Random, { kind, make }: Article, grams: number): string {
  const side = () => 10 + Math.floor(grams / 80) + random.integer(0, 8)
  return JSON.stringify({
    topic: kind.topic,
    make,
    colours: random.sample(COLOURS, random.integer(1, 3)),
    parcel: { width_cm: side(), height_cm: side() },
    warranty: random.chance(50) ? { years: random.integer(2, 10), parts: ['all'] } : null
  })
}

function product (random: Random, article: Article): Product {
  const { kind } = article
  const grams = kind.grams && random.integer(...kind.grams)
  const discontinued = random.chance(12)
  return {
    sku: sku(article),
    name: `${article.make} ${kind.name}`,
    description: random.chance(80) ? kind.story : null,
    price: price(random, kind.euros),
    stock: discontinued ? 0 : random.integer(0, 120),
    weight_kg: grams && grams / 1000,
    attributes: grams && random.chance(85) ? attributes(random, article, grams) : null,
    discontinued: Number(discontinued)
  }
}

/** The shop's range: `count` different articles. */
export function createProducts (random: Random, count: number): Product[] {
  return random.sample(ARTICLES, count).map((article) => product(random, article))
}
