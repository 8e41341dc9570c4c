-- Pass through: what generating, and nothing else, costs.
SELECT auction, bidder, price, `dateTime`, extra FROM bid
