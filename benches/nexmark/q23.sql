-- Bids with their auction and its seller.
SELECT b.bidder, b.price, b.channel, p.id AS seller, p.name, p.city, p.state, a.id AS auction, a.itemName, a.initialBid, a.reserve, a.category
FROM bid AS b
JOIN auction AS a ON a.id = b.auction
JOIN person AS p ON p.id = a.seller
