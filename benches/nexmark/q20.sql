-- Bids with their auction, in category 10.
SELECT b.auction, b.bidder, b.price, b.channel, b.url, b.`dateTime` AS bid_dateTime, b.extra AS bid_extra,
  a.itemName, a.description, a.initialBid, a.reserve, a.`dateTime` AS auction_dateTime, a.expires, a.seller, a.category,
  a.extra AS auction_extra
FROM bid AS b
JOIN auction AS a ON a.id = b.auction
WHERE a.category = 10
